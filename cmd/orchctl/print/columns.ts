/** Custom columns: headers, and paths of the cells. Pure. */
import { goText } from '#apimachinery/errors/go-value.js';
import { alignCells } from '#cmd/orchctl/print/align.js';
import { JsonPath, relaxedPath } from '#cmd/orchctl/print/jsonpath/evaluate.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

interface CustomColumn {
  readonly header: string;
  readonly path: JsonPath;
}

const column = (header: string, spec: string): CustomColumn => ({
  header,
  path: new JsonPath(relaxedPath(spec), { allowMissing: true }),
});

/** `NAME:.metadata.name,NODE:.spec.nodeName`. Throws a CommandError. */
export function columnsOf(spec: string): CustomColumn[] {
  if (spec === '') throw new CommandError('custom-columns format specified but no custom columns given');
  return spec.split(',').map((part) => {
    const at = part.indexOf(':');
    if (at < 0) throw new CommandError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`);
    return column(part.slice(0, at), part.slice(at + 1));
  });
}

/** A line of headers and a line of paths. Throws a CommandError. */
export function columnsOfFile(text: string): CustomColumn[] {
  const [headers, specs] = text.split('\n').map((line) => line.split(/\s+/).filter((word) => word !== ''));
  const shape = 'Expected format is one line of space separated headers, one line of space separated column specs.';
  if (headers === undefined || text === '') throw new CommandError(`invalid template, missing header line. ${shape}`);
  if (specs === undefined) throw new CommandError(`invalid template, missing spec line. ${shape}`);
  if (headers.length !== specs.length) {
    throw new CommandError(
      `number of headers (${headers.length}) and field specifications (${specs.length}) don't match`,
    );
  }
  return headers.map((header, i) => column(header, specs[i] ?? ''));
}

/** Lines without headers if `header` is false. */
export function columnLines(columns: readonly CustomColumn[], objects: readonly unknown[], header: boolean): string {
  const rows = objects.map((object) =>
    columns.map(({ path }) => {
      const results = path.results(object);
      if (results.length === 0 || results[0]?.length === 0) return '<none>';
      return results.flat().map(cell).join(',');
    }),
  );
  return alignCells(header ? [columns.map((each) => each.header), ...rows] : rows);
}

/** As Go prints a value. */
function cell(value: unknown): string {
  return value === null || value === undefined ? '<nil>' : goText(value);
}
