import { type ComponentType, render } from "preact";
import type { LazyModule, Mount } from "../kernel/lazy";
import type { LazyMounts } from "../views/LazyView";
import { approvalViews } from "./approval";
import { CallDetails } from "./log/CallDetails";
import { Prose } from "./Prose";

/** Return a function that renders a component into an element. */
function asMount<P extends object>(View: ComponentType<P>): Mount<P> {
  return (el, props) => render(props && <View {...props} />, el);
}

const views: LazyMounts = { ...approvalViews, prose: asMount(Prose), call: asMount(CallDetails) };

/** The second module: what is too large to send with every widget. */
const lazyModule: LazyModule = { views: { ...views } };

export default lazyModule;
