/** The widget of `%chat show`: a whole conversation, with a box for the next prompt. */
import { historyWidget } from "../views/historyWidget";
import "../styles.css";
import { Conversation } from "./Conversation";
import "./conversation.css";
import { createConversationClient } from "./client";

export default historyWidget(createConversationClient, Conversation);
