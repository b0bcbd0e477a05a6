/**
 * Draws the saved data of `%chat explore` and `%chat show`. It is a module of its own, which a page loads when it has to
 * draw such data: most notebooks have none.
 */

import { type JSX, render } from "preact";
import { Conversation } from "../conversation/Conversation";
import conversationStyles from "../conversation/conversation.css";
import { createSavedClient as createConversationClient, parseSavedConversation } from "../conversation/saved";
import { Explorer } from "../explorer/Explorer";
import explorerStyles from "../explorer/explorer.css";
import { createSavedClient as createHistoryClient, parseSavedHistory } from "../explorer/savedHistory";
import { CONVERSATION_MIME, HISTORY_MIME } from "../saved/parse";

/** Draws the data of a media type into an element; gives what removes it, null where the data is invalid. */
export type HistoryViews = (mimeType: string, data: unknown, el: HTMLElement) => (() => void) | null;

/** What is drawn, by the media type; null where the data is invalid. */
const SAVED_VIEWS: Record<string, (data: unknown) => JSX.Element | null> = {
  [HISTORY_MIME]: (data) => {
    const history = parseSavedHistory(data);
    return history && <Explorer client={createHistoryClient(history)} />;
  },
  [CONVERSATION_MIME]: (data) => {
    const conversation = parseSavedConversation(data);
    return conversation && <Conversation client={createConversationClient(conversation)} />;
  },
};

const sheet = new CSSStyleSheet();
sheet.replaceSync(explorerStyles + conversationStyles);

const draw: HistoryViews = (mimeType, data, el) => {
  const view = SAVED_VIEWS[mimeType]?.(data);
  if (!view) return null;
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  render(view, el);
  return () => render(null, el);
};

export default draw;
