import { type ComponentType, render } from "preact";
import type { LazyModule, Mount } from "../kernel/lazy";
import { approvalViews } from "./approval";
import { CallDetails } from "./log/CallDetails";
import { Prose } from "./Prose";

/** A component as a view that is drawn into any element. */
function asMount<P extends object>(View: ComponentType<P>): Mount {
  return (el, props) => render(props && <View {...(props as P)} />, el);
}

/** The second module: what is too heavy to travel with every widget. */
const lazyModule: LazyModule = {
  views: { ...approvalViews, prose: asMount(Prose), call: asMount(CallDetails) },
};

export default lazyModule;
