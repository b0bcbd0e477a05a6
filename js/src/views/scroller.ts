/** Return what scrolls an element: the nearest box around it that scrolls, else the page. */
export function findScroller(el: HTMLElement): Element {
  for (let at = el.parentElement; at; at = at.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(at).overflowY) && at.scrollHeight > at.clientHeight) return at;
  }
  return document.scrollingElement ?? document.documentElement;
}

/** Scroll so that an element is at this distance from the top of the window, where it was before. */
export function keepAt(el: HTMLElement, top: number): void {
  findScroller(el).scrollTop += el.getBoundingClientRect().top - top;
}
