import { Component, createRef, type JSX } from "preact";
import type { MediaData } from "../protocol";
import { plural, singleLine } from "../text/format";

/** What every browser draws or plays without running anything; anything else is named and not shown. */
const DISPLAYABLE = /^(?:image\/(?:png|jpeg|webp|gif)|audio\/(?:wav|mpeg|ogg|flac|aac|mp4))$/;

/** Bytes that the kernel sends at most; mirrors nbtool/blocks/media.py. */
const MAX_DISPLAYED_BYTES = 4 * 1024 * 1024;

/** How far outside of what is in sight a picture is got ready. */
const PRELOAD_MARGIN = "600px";

export interface MediaListProps {
  media: readonly MediaData[];
  omitted?: number;
  /** The received bytes, by key. */
  bytes: ReadonlyMap<string, BlobPart> | undefined;
  /** Requests bytes; missing without a kernel. */
  requestMedia: ((key: string) => void) | undefined;
}

/** The images and sounds of a tool or an attachment; nothing is fetched, and nothing is the model's. */
export function MediaList({ media, omitted = 0, bytes, requestMedia }: MediaListProps): JSX.Element {
  return (
    <div class="nb-media">
      {media.map((one, at) => (
        <MediaItem key={`${at} ${one.key}`} media={one} bytes={bytes?.get(one.key)} look={requestMedia} />
      ))}
      {omitted > 0 && (
        <p class="nb-muted nb-small">
          {omitted.toLocaleString("en")} more not shown: too large, or too many.
        </p>
      )}
    </div>
  );
}

interface MediaItemProps {
  media: MediaData;
  bytes: BlobPart | undefined;
  look: ((key: string) => void) | undefined;
}

/** One image or sound; its bytes are requested when it becomes visible. */
class MediaItem extends Component<MediaItemProps, { address: string; isBroken: boolean }> {
  override state = { address: "", isBroken: false };
  #el = createRef<HTMLElement>();
  #observer: IntersectionObserver | undefined;

  override componentDidMount(): void {
    if (!this.#el.current || this.#hiddenReason()) return;
    if (typeof IntersectionObserver !== "function") this.#load();
    else {
      this.#observer = new IntersectionObserver(
        (entries) => entries.some((one) => one.isIntersecting) && this.#load(),
        { rootMargin: PRELOAD_MARGIN },
      );
      this.#observer.observe(this.#el.current);
    }
  }

  override componentDidUpdate({ bytes }: MediaItemProps): void {
    if (bytes !== this.props.bytes) this.#setBytes(this.props.bytes);
  }

  override componentWillUnmount(): void {
    this.#observer?.disconnect();
    URL.revokeObjectURL(this.state.address);
  }

  #load(): void {
    this.#observer?.disconnect();
    const { media, bytes, look } = this.props;
    if (media.data !== undefined) this.#setBytes(decodeBase64(media.data));
    else if (bytes) this.#setBytes(bytes);
    else look?.(media.key);
  }

  #setBytes(bytes: BlobPart | null | undefined): void {
    if (this.state.address) return;
    if (bytes)
      this.setState({ address: URL.createObjectURL(new Blob([bytes], { type: this.props.media.mime })) });
    else this.setState({ isBroken: true });
  }

  /** Why it is named and not shown; empty if it is shown. */
  #hiddenReason(): string {
    const { media, look } = this.props;
    if (!DISPLAYABLE.test(media.mime)) return " ";
    if (this.state.isBroken) return "cannot be shown here";
    if (!look && media.data === undefined) return "not saved in the notebook";
    return media.size > MAX_DISPLAYED_BYTES ? "too large to show here" : "";
  }

  render(): JSX.Element {
    const { media } = this.props;
    const { address } = this.state;
    const reason = this.#hiddenReason().trim();
    const caption = captionOf(media);
    return (
      <figure class="nb-media-item" ref={this.#el}>
        {address && !this.#hiddenReason() && this.#renderMedia(caption)}
        <figcaption class="nb-muted nb-small">{reason ? `${caption}: ${reason}` : caption}</figcaption>
      </figure>
    );
  }

  #renderMedia(caption: string): JSX.Element {
    const { address } = this.state;
    const broken = (): void => this.setState({ isBroken: true });
    if (this.props.media.mime.startsWith("image/"))
      return <img alt={caption} src={address} onError={broken} />;
    // biome-ignore lint/a11y/useMediaCaption: there is no transcript of a tool's sound
    return <audio aria-label={caption} controls preload="none" src={address} onError={broken} />;
  }
}

function captionOf({ name, mime, size, is_sent }: MediaData): string {
  const parts = [
    singleLine(name, 80),
    singleLine(mime, 60),
    size > 0 && formatBytes(size),
    sentNote(is_sent),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Whether the model got what a tool returned; as in nbtool/blocks/media.py. */
function sentNote(isSent: boolean | undefined): string {
  if (isSent === undefined) return "";
  return isSent ? "sent to the model" : "only you see it: not sent to the model";
}

function formatBytes(size: number): string {
  if (size < 1000) return plural(size, "byte");
  return size < 1_000_000 ? `${Math.round(size / 1000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

function decodeBase64(data: string): BlobPart | null {
  try {
    return Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  } catch {
    return null; // no base64: a forged notebook
  }
}
