/** Images and sounds: their names alone until the second module is loaded. */
import type { JSX } from "preact";
import { singleLine } from "../text/format";
import { LazyView } from "./LazyView";
import type { MediaListProps } from "./MediaList";

/** Images and sounds; their names alone until the second module is loaded. */
export function LazyMedia(props: MediaListProps): JSX.Element {
  return (
    <LazyView view="media" props={props}>
      <MediaNames media={props.media} />
    </LazyView>
  );
}

/** The names of images and sounds. */
export function MediaNames({ media }: Pick<MediaListProps, "media">): JSX.Element {
  return <p class="nb-muted">{media.map(({ name, mime }) => singleLine(`${name} ${mime}`)).join(", ")}</p>;
}
