import type { JSX } from "preact";
import { bindRequestKey, isLive, stopRequestKey } from "../../kernel/turn";
import type { LazyViews } from "../../views/LazyView";
import { MediaList } from "../../views/MediaList";
import { AddButton, BindResult } from "../approval/BindResult";
import { StopCall } from "./StopCall";

/** What stands beside and below the row of a call: its stop button, its images, and the way of its result into the notebook. */
export function CallControls({ block, connection }: LazyViews["callControls"]): JSX.Element {
  const { document, link, media, requests } = connection.state();
  const hasMedia = block.media || block.media_left_out;
  return (
    <>
      {block.state === "running" && isLive(document) && (
        <StopCall
          callId={block.call_id}
          name={block.name}
          request={requests[stopRequestKey(block.call_id)]}
          stopCall={connection.stopCall}
        />
      )}
      {hasMedia && (
        <MediaList
          media={block.media ?? []}
          omitted={block.media_left_out ?? 0}
          bytes={media}
          requestMedia={connection.requestMedia}
        />
      )}
      {block.reference && link !== "offline" && (
        <BindResult call={block} request={requests[bindRequestKey(block.call_id)]} bind={connection.bind} />
      )}
      {block.reference && document.head.acts?.includes("bind") && (
        <AddButton
          reference={block.reference}
          onClick={() => connection.runAction("bind", undefined, block.reference)}
        />
      )}
    </>
  );
}
