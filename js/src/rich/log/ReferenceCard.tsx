import type { JSX } from "preact";
import type { Glance, ResolvedArgument } from "../../protocol";
import { counted, visible } from "../../text/format";
import { onlyReference, resolvedText } from "../../text/resolved";

interface CardProps {
  name: string;
  argument: ResolvedArgument;
  glance: Glance | undefined;
}

/** What a reference stands for: type and shape, and the first rows where they were opened for reading. */
export function ReferenceCard({ name, argument, glance }: CardProps): JSX.Element {
  const reference = onlyReference(argument);
  return (
    <div class="nb-ref">
      <code>{visible(reference ? `${name} = ${reference.name}` : name)}</code>{" "}
      <span class="nb-quiet">{visible(reference?.text ?? resolvedText(argument))}</span>
      {glance && glance.rows.length > 0 && <Rows glance={glance} />}
      {glance && <More glance={glance} />}
    </div>
  );
}

/** What is not shown of a table. */
function More({
  glance: { more_rows: rows = 0, more_columns: columns = 0 },
}: {
  glance: Glance;
}): JSX.Element | null {
  const left = [rows && counted(rows, "row"), columns && counted(columns, "column")].filter(Boolean);
  return left.length ? <p class="nb-quiet nb-small">… {left.join(" and ")} more</p> : null;
}

function Rows({ glance: { columns, rows } }: { glance: Glance }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-table nb-scroll" tabIndex={0} aria-label="First rows">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{visible(column)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{visible(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
