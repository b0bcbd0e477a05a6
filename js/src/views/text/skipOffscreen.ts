/**
 * Have the browser pass over an element that never changes again, where it is out of sight. Each element that it may pass
 * over costs at every frame, so those inside are hidden first, with no frame between: that ends the watch over them until
 * this one comes into sight. They inherit it, because a change of their own would wait for that at each of them.
 */
export function skipWhenOffscreen(el: HTMLElement): void {
  if (el.isConnected) skip(el);
  else requestAnimationFrame(() => skip(el)); // an output is drawn before it is attached, and has no height until then
}

function skip(el: HTMLElement): void {
  const nested = el.querySelector(".nb-offscreen");
  const height = el.offsetHeight; // none in a closed fold, where the style sheet's estimate is better
  if (height) el.style.containIntrinsicBlockSize = `auto ${height}px`;
  el.classList.add("nb-offscreen-pending");
  if (nested) getComputedStyle(nested).contentVisibility; // reading the style applies it
  el.classList.replace("nb-offscreen-pending", "nb-offscreen");
}
