import type { ComponentChildren, TargetedEvent } from "preact";

const SCHEMES = ["http:", "https:", "mailto:"];

/**
 * A link to the web or a mail address that says where it leads; any other is its words alone. It has no address until
 * it is pressed, as browsers look up the names of the links on a page: https://www.w3.org/TR/resource-hints/#dns-prefetch
 */
export function link(href: string, words: ComponentChildren, raw: string): ComponentChildren {
  if (!/^(https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) return words;
  const url = new URL(href);
  if (!SCHEMES.includes(url.protocol)) return words;
  const destination = url.protocol === "mailto:" ? url.pathname : url.host;
  const setAddress = ({ currentTarget }: TargetedEvent<HTMLAnchorElement>): void => {
    currentTarget.href = url.href;
  };
  const handlers = { onPointerDown: setAddress, onKeyDown: setAddress, onClick: setAddress };
  return [
    <a role="link" tabIndex={0} title={url.href} target="_blank" rel="noopener noreferrer" {...handlers}>
      {words}
    </a>,
    raw.split("](")[0]?.includes(destination) ? null : <span class="nb-muted"> ({destination})</span>,
  ];
}
