/** Scrolling along with the end of a growing turn, unless the reader scrolled up. */
import { findScroller } from "../views/scroller";

/** Pixels that the end of a turn may lie below the edge and still be in sight. */
const NEAR_PIXELS = 48;

/** Keeps the end of an element in sight while it grows, unless the reader scrolled up; `moved` is called as it grows. */
export function followScroll(el: HTMLElement): { onChange: () => void; stop: () => void } {
  const scroller = findScroller(el);
  let isFollowing = isNear(el, scroller);
  let frame = 0;
  const onScroll = (): void => {
    isFollowing = isNear(el, scroller);
  };
  const scrollToEnd = (): void => {
    frame = 0;
    const below = bottom(el) - bottomEdge(scroller);
    if (isFollowing && below > 0) scroller.scrollTop += below;
  };
  const target = scroller === document.scrollingElement ? document : scroller;
  target.addEventListener("scroll", onScroll, { passive: true });
  return {
    onChange: () => {
      frame ||= requestAnimationFrame(scrollToEnd);
    },
    stop: () => {
      cancelAnimationFrame(frame);
      target.removeEventListener("scroll", onScroll);
    },
  };
}

function bottom(el: Element): number {
  return el.getBoundingClientRect().bottom;
}

function bottomEdge(scroller: Element): number {
  return scroller === document.scrollingElement ? window.innerHeight : bottom(scroller);
}

function isNear(el: Element, scroller: Element): boolean {
  return bottom(el) - bottomEdge(scroller) <= NEAR_PIXELS;
}
