/** Announcements to screen readers. */
import { Component } from "preact";
import type { Block, Head } from "../protocol";

/** Milliseconds between two announcements: a screen reader finishes one before it gets the next. */
const PAUSE_MS = 1500;

/** Characters of one announcement. */
const MAX_ANNOUNCED_CHARS = 600;

/** Maximum characters that are queued: of a longer text only the start is announced, and what follows later. */
const MAX_BACKLOG_CHARS = 4_000;

/** The region of the page that announces: it outlives the view of a turn, so that the last words of a reply are read. */
const REGION_ID = "nbtool-announcements";

interface Props {
  blocks: Block[];
  status: Head["status"];
}

/** What is announced after the last words. */
const COMPLETE = "The turn is complete.";

/** Announces the finished sentences of a streaming reply to screen readers, and at the end what is left. */
export class LiveRegion extends Component<Props> {
  #block = "";
  #announced = 0;
  #isEnded = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidMount(): void {
    findRegion();
  }

  override componentDidUpdate(): void {
    if (this.#isLive()) {
      this.#isEnded = false; // a parked turn goes on
      this.#timer ??= setTimeout(this.#announceSentences, PAUSE_MS);
    } else this.#announceEnd();
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): null {
    return null;
  }

  #isLive(): boolean {
    return this.props.status === "running" || this.props.status === "waiting";
  }

  #announceSentences = (): void => {
    this.#timer = undefined;
    const text = this.#takeText();
    if (text) findRegion().textContent = text;
  };

  /** Announce what is left and the end, once. */
  #announceEnd(): void {
    clearTimeout(this.#timer);
    if (this.#isEnded) return;
    this.#isEnded = true;
    const end = this.props.status === "completed" ? COMPLETE : "";
    const text = [this.#takeText(), end].filter(Boolean).join(" ");
    if (text) findRegion().textContent = text;
  }

  /** Take the finished sentences that were not announced yet; of a turn that has ended all of its text. */
  #takeText(): string {
    const last = this.props.blocks.findLast((block) => block.kind === "text");
    if (last?.kind !== "text") return "";
    if (last.id !== this.#block) [this.#block, this.#announced] = [last.id, 0];
    const remaining = last.text.length - this.#announced;
    const isBehind = remaining > MAX_BACKLOG_CHARS;
    const unread = last.text.slice(this.#announced, this.#announced + MAX_BACKLOG_CHARS);
    const isOpen = last.state === "open" && this.#isLive();
    const end = isOpen ? (/^[\s\S]*(?:[.!?:]\s|\n)/.exec(unread)?.[0].length ?? 0) : unread.length;
    if (end === 0 && !isBehind) return "";
    this.#announced += isBehind ? remaining : end;
    return toSpeech(unread.slice(0, end));
  }
}

/** Announce a text; an empty one makes the region known, so that the next one is read. */
export function announce(text: string): void {
  const region = findRegion();
  if (text) region.textContent = text;
}

/** Return the region, made on first use: a screen reader reads what changes in one that it already knows. */
function findRegion(): HTMLElement {
  const known = document.getElementById(REGION_ID);
  if (known) return known;
  const region = document.createElement("div");
  region.id = REGION_ID;
  region.className = "nb-visually-hidden";
  region.setAttribute("role", "log");
  region.ariaLive = "polite";
  document.body.append(region);
  return region;
}

/** A span of code, whose text is read as it is; what is emphasized by underscores; other marks. */
const MARKS = /`([^`\n]*)`|(?<![\w`])_{1,2}(?![\s_])([^_`\n]*[^\s_`])_{1,2}(?![\w`])|[*`#>|[\]]+/g;

/** Markdown without its marks, and not more than one listens to. */
function toSpeech(text: string): string {
  const plain = text
    .replace(/```[\s\S]*?(?:```|$)/g, " code ")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(
      MARKS,
      (_, code: string | undefined, emphasized: string | undefined) => code ?? emphasized ?? "",
    );
  return plain.length > MAX_ANNOUNCED_CHARS ? `${plain.slice(0, MAX_ANNOUNCED_CHARS)}…` : plain;
}
