import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { signInParts } from "../../src/rich/approval/SignIn";
import { ask, calls, type Desk } from "./desk";

const PAGE = "https://login.example/authorize?client_id=nbtool&state=s";
let desk: Desk;
const opened = vi.fn();

async function askAbout(page: string): Promise<void> {
  desk = await ask(
    calls({
      tool: "lab asks",
      shown: "{}",
      is_form: true,
      sensitive: true,
      can_remember: false,
      notice: "'lab' asks you to sign in at login.example.",
      sign_in: page,
    }),
  );
}

beforeEach(() => {
  vi.useFakeTimers();
  opened.mockReset();
  vi.stubGlobal("open", opened);
});
afterEach(() => {
  desk?.page.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("the whole address is shown as text with its host emphasised, and nothing is opened before the click", async () => {
  await askAbout(PAGE);

  expect(desk.el.textContent).toContain("lab asks you to sign in. Open its page?");
  expect(desk.el.querySelector(".nb-address")?.textContent).toBe(PAGE);
  expect(desk.el.querySelector(".nb-address strong")?.textContent).toBe("login.example");
  expect(desk.el.querySelectorAll("a, textarea, input, iframe")).toHaveLength(0);
  expect(opened).not.toHaveBeenCalled();
});

test("the click opens the page once, in a tab without a way back, and agrees", async () => {
  await askAbout(PAGE);
  await desk.press("Open sign-in page");

  expect(opened.mock.calls).toEqual([[PAGE, "_blank", "noopener,noreferrer"]]);
  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test("not to sign in opens nothing", async () => {
  await askAbout(PAGE);
  await desk.press("Do not sign in");

  expect(opened).not.toHaveBeenCalled();
  expect(desk.decisions()).toEqual([{ kind: "deny", digest: "d1" }]);
});

test.each([
  "javascript:alert(1)",
  "http://login.example/",
  "https://login.example@evil.example/",
  "https://login.example\u202e/x",
  "https://lоgin.example/",
  "https:login.example",
  "data:text/html,x",
  "/relative",
  "",
  '"><img src=x onerror=alert(1)>',
])("a hostile address is text that cannot be opened: %j", async (page) => {
  await askAbout(page);

  expect(signInParts(page)).toBeNull();
  expect(desk.el.querySelectorAll("a, img, strong")).toHaveLength(0);
  expect(desk.button("Open sign-in page").disabled).toBe(true);
  expect(desk.button("Do not sign in").disabled).toBe(false);
  expect(opened).not.toHaveBeenCalled();
});

test.each(["http://127.0.0.1:8080/authorize?x=1", "http://localhost/a", "https://login.example"])(
  "an address of https or of this machine can be opened: %s",
  (page) => {
    const parts = signInParts(page);
    expect(parts && parts.before + parts.host + parts.after).toBe(page);
  },
);
