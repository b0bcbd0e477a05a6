import type { JSX } from "preact";
import { singleLine } from "../text/format";
import { LazyView } from "./LazyView";
import type { MediaListProps } from "./MediaList";

/** Images and sounds; their names alone until the second module is loaded. */
export function LazyMedia(props: MediaListProps): JSX.Element {
  return (
    <LazyView view="media" props={props}>
      <p class="nb-muted">{props.media.map(({ name, mime }) => singleLine(`${name} ${mime}`)).join(", ")}</p>
    </LazyView>
  );
}
