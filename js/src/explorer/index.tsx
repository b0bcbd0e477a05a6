/** The widget of `%chat explore`: the history of a conversation. */
import { historyWidget } from "../views/historyWidget";
import "../styles.css";
import { Explorer } from "./Explorer";
import "./explorer.css";
import { createExplorerClient } from "./client";

export default historyWidget(createExplorerClient, Explorer);
