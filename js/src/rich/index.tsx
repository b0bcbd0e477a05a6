/** The second module, loaded once a page: what is too large to send with every widget. */
import { type ComponentType, render } from "preact";
import type { LazyModule, Mount } from "../kernel/lazy";
import { InsertedCellNotice } from "../views/InsertedCell";
import type { LazyMounts } from "../views/LazyView";
import { MediaList } from "../views/MediaList";
import { AddText } from "./actions/AddText";
import { FixCell } from "./actions/FixCell";
import { TurnActions } from "./actions/TurnActions";
import { Card } from "./approval/QuestionList";
import { Elapsed } from "./Elapsed";
import { mountLiveTurn } from "./LiveTurn";
import { CallControls } from "./log/CallControls";
import { CallDetails } from "./log/CallDetails";
import { GroupSummary } from "./log/GroupSummary";
import { Outcome } from "./log/Outcome";
import { Omission } from "./Omission";
import { Prose } from "./Prose";
import { withStyles } from "./styles";

/** Return a function that renders a component into an element. */
function asMount<P extends object>(View: ComponentType<P>): Mount<P> {
  return (el, props) => render(props && <View {...props} />, withStyles(el));
}

const views: LazyMounts = {
  approval: asMount(Card),
  media: asMount(MediaList),
  elapsed: asMount(Elapsed),
  liveTurn: mountLiveTurn,
  groupSummary: asMount(GroupSummary),
  addition: asMount(AddText),
  omission: asMount(Omission),
  actions: asMount(TurnActions),
  fix: asMount(FixCell),
  insertedCell: asMount(InsertedCellNotice),
  prose: asMount(Prose),
  call: asMount(CallDetails),
  outcome: asMount(Outcome),
  callControls: asMount(CallControls),
};

/** The second module: what is too large to send with every widget. */
const lazyModule: LazyModule = { views: { ...views } };

export default lazyModule;
