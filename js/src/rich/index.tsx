import { type ComponentType, render } from "preact";
import type { LazyModule, Mount } from "../kernel/lazy";
import { InsertedCellNotice } from "../views/InsertedCell";
import type { LazyMounts } from "../views/LazyView";
import { LiveRegion } from "../views/LiveRegion";
import { MediaList } from "../views/MediaList";
import { TurnActions } from "./actions/TurnActions";
import { BindResult } from "./approval/BindResult";
import { Card } from "./approval/QuestionList";
import { CallDetails } from "./log/CallDetails";
import { StopCall } from "./log/StopCall";
import { Prose } from "./Prose";
import { withStyles } from "./styles";

/** Return a function that renders a component into an element. */
function asMount<P extends object>(View: ComponentType<P>): Mount<P> {
  return (el, props) => render(props && <View {...props} />, withStyles(el));
}

const views: LazyMounts = {
  approval: asMount(Card),
  toNotebook: asMount(BindResult),
  media: asMount(MediaList),
  announcements: asMount(LiveRegion),
  actions: asMount(TurnActions),
  insertedCell: asMount(InsertedCellNotice),
  prose: asMount(Prose),
  call: asMount(CallDetails),
  stopCall: asMount(StopCall),
};

/** The second module: what is too large to send with every widget. */
const lazyModule: LazyModule = { views: { ...views } };

export default lazyModule;
