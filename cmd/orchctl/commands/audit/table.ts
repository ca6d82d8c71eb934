/** Prints events as rows. */
import { columnWidths } from '#apimachinery/columns.js';
import type { LoggedEvent } from '#cmd/orchctl/commands/audit/filter.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

export interface EventTableOptions {
  readonly wide: boolean;
  readonly header: boolean;
}

/** Rows that are aligned together; later ones have at least their widths. */
const batch = 500;

export class EventTable {
  readonly #out: Output;
  readonly #wide: boolean;
  #header: boolean;
  #rows: string[][] = [];
  #widths: number[] = [];

  constructor(out: Output, { wide, header }: EventTableOptions) {
    this.#out = out;
    this.#wide = wide;
    this.#header = header;
  }

  add(event: LoggedEvent): void {
    this.#rows.push(rowOf(event, this.#wide));
    if (this.#rows.length >= batch) this.flush();
  }

  flush(): void {
    if (this.#rows.length === 0) return;
    const header = ['TIME', 'USER', 'VERB', 'NAMESPACE', 'OBJECT', 'CODE'];
    const more = this.#wide ? ['DURATION', 'SOURCE', 'AGENT', 'ID'] : [];
    const lines = this.#header ? [[...header, ...more], ...this.#rows] : this.#rows;
    this.#header = false;
    this.#rows = [];
    this.#widths = columnWidths(lines, this.#widths);
    this.#out.write(`${alignColumns(lines, this.#widths).join('\n')}\n`);
  }
}

/** Pure. */
function rowOf(event: LoggedEvent, wide: boolean): string[] {
  const { receivedMs, stageMs, user, impersonated, verb, namespace, code } = event;
  const who = impersonated === '' ? user : `${user} as ${impersonated}`;
  const row = [timeText(receivedMs), who, verb, namespace, objectText(event), code === 0 ? '-' : String(code)];
  const duration = Number.isFinite(stageMs - receivedMs) ? `${Math.round(stageMs - receivedMs)}ms` : '';
  const more = wide ? [duration, event.sourceIP, event.userAgent, event.auditID] : [];
  return [...row, ...more].map((text) => (text === '' ? '-' : printable(text)));
}

function timeText(ms: number): string {
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

/** `deployments.apps/web/scale`; requests outside of resources have their path. */
function objectText({ resource, apiGroup, name, subresource, requestURI }: LoggedEvent): string {
  if (resource === '') return requestURI;
  const type = apiGroup === '' ? resource : `${resource}.${apiGroup}`;
  return [type, name, subresource].filter((part) => part !== '').join('/');
}

const maxCell = 200;

/** Clients choose these texts: they must not control the terminal. */
function printable(text: string): string {
  const shown = text.length > maxCell ? `${text.slice(0, maxCell)}…` : text;
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
}
