/** A command line that orchctl and kubectl answer alike. */
export interface Row {
  /** Words after the program's name. `@file` stands for the path of one of the files. */
  readonly args: readonly string[];
  /** Standard input. */
  readonly input?: string;
}

/** Splits at spaces; parts in single quotes stay whole. */
function row(line: string, input?: string): Row {
  const args = (line.match(/'[^']*'|[^\s']+(?:'[^']*')?/g) ?? []).map((word) => word.replaceAll("'", ''));
  return input === undefined ? { args } : { args, input };
}

/** A row for each line. */
export function rows(lines: string): Row[] {
  return lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => row(line));
}
