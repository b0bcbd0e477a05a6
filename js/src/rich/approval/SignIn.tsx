/** The words of decisions, and the card's part about a login page: its address with the host in bold, and opening it. */
import type { JSX } from "preact";
import type { QuestionData } from "../../protocol";
import { escapeConfusables } from "../../text/confusables";
import { escapeInvisible } from "../../text/format";
import { answersTo } from "../../views/approval/answers";
import type { PendingCall } from "../../views/approval/pending";

/** The hosts to which plain HTTP is no risk: this machine. */
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** What a button does with all of several questions. */
export function verbFor(calls: PendingCall[], which: "yes" | "no"): string {
  return names(calls, which)
    .join(" or ")
    .replace(/(?<= or )./g, (first) => first.toLowerCase());
}

/** What the keys do, whichever question has the focus. */
export function decisionNames(calls: PendingCall[]): { yes: string; no: string } {
  const joined = (which: "yes" | "no"): string => names(calls, which).join(" or ").toLowerCase();
  return { yes: joined("yes"), no: joined("no") };
}

function names(calls: PendingCall[], which: "yes" | "no"): string[] {
  return [...new Set(calls.map(({ question }) => answersTo(question)[which].label))];
}

/** An address that may be opened, in the parts of its text; null for any other. */
export function signInParts(address: string): { before: string; host: string; after: string } | null {
  if (!/^[!-~]+$/.test(address) || !URL.canParse(address)) return null;
  const { protocol, host, hostname, username, password } = new URL(address);
  const isSafe = protocol === "https:" || (protocol === "http:" && LOOPBACK.has(hostname));
  const before = `${protocol}//`;
  if (!isSafe || username || password || !host || !address.startsWith(before + host)) return null;
  const after = address.slice(before.length + host.length);
  return after === "" || /^[/?#]/.test(after) ? { before, host, after } : null;
}

/** Whether a question can be agreed to as far as its page is concerned. */
export function canOpen({ sign_in }: QuestionData): boolean {
  return sign_in === undefined || signInParts(sign_in) !== null;
}

/** Open the page of a question in a tab that knows nothing of this one; only in the click that agrees. */
export function openSignIn({ sign_in }: QuestionData): void {
  if (sign_in !== undefined && signInParts(sign_in)) window.open(sign_in, "_blank", "noopener,noreferrer");
}

/** The address in full, as text, its host emphasised. */
export function SignInAddress({ address }: { address: string }): JSX.Element {
  const parts = signInParts(address);
  return (
    <section aria-label="Address of the page">
      <code class="nb-address">
        {parts ? (
          <>
            {parts.before}
            <strong>{parts.host}</strong>
            {parts.after}
          </>
        ) : (
          escapeConfusables(escapeInvisible(address))
        )}
      </code>
      {!parts && <p class="nb-muted">This is no address that can be opened here.</p>}
    </section>
  );
}
