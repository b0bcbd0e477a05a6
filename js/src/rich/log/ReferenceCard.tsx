/** What a reference in the log points to: its type, shape, columns and first rows. */
import type { JSX } from "preact";
import type { ResolvedShape, TablePreview } from "../../protocol";
import { escapeInvisible, plural } from "../../text/format";
import { onlyReference, resolvedText } from "../../text/resolved";

interface CardProps {
  name: string;
  argument: ResolvedShape;
  glance: TablePreview | undefined;
}

/** The target of a reference: type and shape, its columns in a fold, and the first rows if they were opened for reading. */
export function ReferenceCard({ name, argument, glance }: CardProps): JSX.Element {
  const reference = onlyReference(argument);
  const text = reference?.text ?? resolvedText(argument);
  const summary = reference?.summary || text;
  const title = (
    <>
      <code>{escapeInvisible(reference ? `${name} = ${reference.name}` : name)}</code>{" "}
      <span class="nb-muted">{escapeInvisible(summary)}</span>
    </>
  );
  return (
    <div class="nb-reference">
      {text === summary ? (
        title
      ) : (
        <details class="nb-fold">
          <summary>{title}</summary>
          <p class="nb-muted nb-fold-body">{escapeInvisible(text)}</p>
        </details>
      )}
      {glance && <TableRows glance={glance} label="First rows" />}
    </div>
  );
}

/** What of a result is in its table: the model may have seen another part of it. */
export function tableTitle({ rows, more_rows: more = 0 }: TablePreview): string {
  const total = plural(rows.length + more, "row");
  return `The result, ${more ? `${rows.length.toLocaleString("en")} of ${total}` : total}`;
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
  const classes = columns.map((_, at) =>
    isNumeric(rows.map((row) => row[at] ?? "")) ? "nb-number" : undefined,
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-table nb-data nb-scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th scope="col" class={classes[at]}>
                {escapeInvisible(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell, at) => (
                <td class={classes[at]}>{escapeInvisible(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A number as Python writes it; cells are at most 40 characters long. */
const NUMBER = /^[-+]?(\d[\d_,]*(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i;

/** What stands for a number that is missing. */
const MISSING: readonly string[] = ["", "nan", "NaN", "NaT", "None", "<NA>", "inf", "-inf"];

/** Whether a column holds numbers, which are aligned on the right. */
function isNumeric(cells: readonly string[]): boolean {
  return (
    cells.some((cell) => NUMBER.test(cell)) &&
    cells.every((cell) => NUMBER.test(cell) || MISSING.includes(cell))
  );
}
