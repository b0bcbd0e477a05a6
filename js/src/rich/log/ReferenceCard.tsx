import type { JSX } from "preact";
import type { ResolvedShape, TablePreview } from "../../protocol";
import { escapeInvisible, plural } from "../../text/format";
import { onlyReference, resolvedText } from "../../text/resolved";

interface CardProps {
  name: string;
  argument: ResolvedShape;
  glance: TablePreview | undefined;
}

/** The target of a reference: type and shape, and the first rows if they were opened for reading. */
export function ReferenceCard({ name, argument, glance }: CardProps): JSX.Element {
  const reference = onlyReference(argument);
  return (
    <div class="nb-reference">
      <code>{escapeInvisible(reference ? `${name} = ${reference.name}` : name)}</code>{" "}
      <span class="nb-muted">{escapeInvisible(reference?.text ?? resolvedText(argument))}</span>
      {glance && <TableRows glance={glance} label="First rows" />}
    </div>
  );
}

/** The first rows of a table, and how many there are more. */
export function TableRows({ glance, label }: { glance: TablePreview; label: string }): JSX.Element {
  return (
    <>
      {glance.rows.length > 0 && <PreviewRows glance={glance} label={label} />}
      <OmittedCells glance={glance} />
    </>
  );
}

/** What is not shown of a table. */
function OmittedCells({
  glance: { more_rows: rows = 0, more_columns: columns = 0 },
}: {
  glance: TablePreview;
}): JSX.Element | null {
  const left = [rows && plural(rows, "row"), columns && plural(columns, "column")].filter(Boolean);
  return left.length ? <p class="nb-muted nb-small">… {left.join(" and ")} more</p> : null;
}

function PreviewRows({
  glance: { columns, rows },
  label,
}: {
  glance: TablePreview;
  label: string;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-table nb-scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{escapeInvisible(column)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{escapeInvisible(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
