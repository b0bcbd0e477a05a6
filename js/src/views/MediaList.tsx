import { Component, createRef, type JSX } from "preact";
import type { Media } from "../protocol";
import { counted, oneLine } from "../text/format";

/** What every browser draws or plays without running anything; all else is told of, and not shown. */
const SHOWN = /^(?:image\/(?:png|jpeg|webp|gif)|audio\/(?:wav|mpeg|ogg|flac|aac|mp4))$/;

/** Bytes that the kernel sends at most; mirrors nbtool/blocks/media.py. */
const SHOWN_LIMIT = 4 * 1024 * 1024;

/** How far outside of what is in sight a picture is got ready. */
const AHEAD = "600px";

interface PicturesProps {
  media: readonly Media[];
  leftOut?: number;
  /** The bytes that have come, by their keys. */
  bytes: ReadonlyMap<string, BlobPart> | undefined;
  /** Asks for bytes; none where nobody can be asked. */
  look: ((key: string) => void) | undefined;
}

/** The images and sounds of a tool or an attachment; nothing is fetched, and nothing of a model stands here. */
export function Pictures({ media, leftOut = 0, bytes, look }: PicturesProps): JSX.Element {
  return (
    <div class="nb-pictures">
      {media.map((one, at) => (
        <Picture key={`${at} ${one.key}`} media={one} bytes={bytes?.get(one.key)} look={look} />
      ))}
      {leftOut > 0 && (
        <p class="nb-quiet nb-small">
          {leftOut.toLocaleString("en")} more not shown: too large, or too many.
        </p>
      )}
    </div>
  );
}

interface PictureProps {
  media: Media;
  bytes: BlobPart | undefined;
  look: ((key: string) => void) | undefined;
}

/** One image or sound; its bytes are asked for when it comes into sight. */
class Picture extends Component<PictureProps, { address: string; isBroken: boolean }> {
  override state = { address: "", isBroken: false };
  #el = createRef<HTMLElement>();
  #watch: IntersectionObserver | undefined;

  override componentDidMount(): void {
    if (!this.#el.current || this.#why()) return;
    if (typeof IntersectionObserver !== "function") this.#seen();
    else {
      this.#watch = new IntersectionObserver(
        (seen) => seen.some((one) => one.isIntersecting) && this.#seen(),
        { rootMargin: AHEAD },
      );
      this.#watch.observe(this.#el.current);
    }
  }

  override componentDidUpdate({ bytes }: PictureProps): void {
    if (bytes !== this.props.bytes) this.#open(this.props.bytes);
  }

  override componentWillUnmount(): void {
    this.#watch?.disconnect();
    URL.revokeObjectURL(this.state.address);
  }

  #seen(): void {
    this.#watch?.disconnect();
    const { media, bytes, look } = this.props;
    if (media.data !== undefined) this.#open(decoded(media.data));
    else if (bytes) this.#open(bytes);
    else look?.(media.key);
  }

  #open(bytes: BlobPart | null | undefined): void {
    if (this.state.address) return;
    if (bytes)
      this.setState({ address: URL.createObjectURL(new Blob([bytes], { type: this.props.media.mime })) });
    else this.setState({ isBroken: true });
  }

  /** Why it is told of and not shown; empty where it is. */
  #why(): string {
    const { media, look } = this.props;
    if (!SHOWN.test(media.mime)) return " ";
    if (this.state.isBroken) return "it cannot be shown here";
    if (!look && media.data === undefined) return "not kept in the notebook";
    return media.size > SHOWN_LIMIT ? "too large to be shown here" : "";
  }

  render(): JSX.Element {
    const { media } = this.props;
    const { address } = this.state;
    const why = this.#why().trim();
    const about = aboutOf(media);
    return (
      <figure class="nb-picture" ref={this.#el}>
        {address && !this.#why() && this.#shown(about)}
        <figcaption class="nb-quiet nb-small">{why ? `${about}: ${why}` : about}</figcaption>
      </figure>
    );
  }

  #shown(about: string): JSX.Element {
    const { address } = this.state;
    const broken = (): void => this.setState({ isBroken: true });
    if (this.props.media.mime.startsWith("image/")) return <img alt={about} src={address} onError={broken} />;
    // biome-ignore lint/a11y/useMediaCaption: nobody has written down what a tool's sound says
    return <audio aria-label={about} controls preload="none" src={address} onError={broken} />;
  }
}

function aboutOf({ name, mime, size }: Media): string {
  const told = [oneLine(name, 80), oneLine(mime, 60), size > 0 && bytes(size)];
  return told.filter(Boolean).join(" · ");
}

function bytes(size: number): string {
  if (size < 1000) return counted(size, "byte");
  return size < 1_000_000 ? `${Math.round(size / 1000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

function decoded(data: string): BlobPart | null {
  try {
    return Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  } catch {
    return null; // no base64: a forged notebook
  }
}
