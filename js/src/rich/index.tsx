import { type ComponentType, render } from "preact";
import type { Mount, Rich } from "../kernel/lazy";
import { approvalViews } from "./approval";
import { Inside } from "./log/CallDetails";
import { Prose } from "./Prose";

/** A component as a view that is drawn into any element. */
function mounted<P extends object>(View: ComponentType<P>): Mount {
  return (el, props) => render(props && <View {...(props as P)} />, el);
}

/** The second module: what is too heavy to travel with every widget. */
const rich: Rich = {
  views: { ...approvalViews, prose: mounted(Prose), call: mounted(Inside) },
};

export default rich;
