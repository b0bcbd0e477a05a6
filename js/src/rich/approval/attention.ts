/** What tells a person that a decision waits: the count in the title of the page, and a notification of a hidden page. */

const PREFIX = /^\(\d+\) /;
const waiting = new Map<object, number>();
let observer: MutationObserver | undefined;

/** Set how many decisions one turn waits for. */
export function setWaiting(turn: object, count: number): void {
  const isMore = count > (waiting.get(turn) ?? 0);
  if (count) waiting.set(turn, count);
  else waiting.delete(turn);
  showCount();
  if (isMore && document.hidden) notify();
}

/** Write the count before the title, again after the page has written another title. */
function showCount(): void {
  const total = [...waiting.values()].reduce((sum, one) => sum + one, 0);
  const plain = document.title.replace(PREFIX, "");
  const title = total ? `(${total}) ${plain}` : plain;
  if (document.title !== title) document.title = title;
  observer?.disconnect();
  if (!total) return;
  observer = new MutationObserver(showCount);
  observer.observe(document.head, { subtree: true, childList: true, characterData: true });
}

/** Notify the person, where they have allowed this page to; it never asks for the permission. */
function notify(): void {
  if (typeof Notification === "function" && Notification.permission === "granted")
    new Notification(document.title, { body: "A decision waits in this notebook.", tag: "nbtool" });
}

/** Scroll to a card on a page that has no notebook with a pill, except where the person is typing. */
export function scrollToCard(card: HTMLElement): void {
  const { activeElement } = document;
  const isTyping = activeElement?.matches("input, textarea, [contenteditable=true]");
  if (isTyping && !card.contains(activeElement)) return;
  const isTaller = card.offsetHeight > window.innerHeight * 0.8;
  card.scrollIntoView({ block: isTaller ? "start" : "nearest" });
}
