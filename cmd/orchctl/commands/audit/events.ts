/** Reads the events of audit logs, line by line: a log may be larger than the memory. */
import { parseTime } from '#apimachinery/clock.js';
import type { EventFilter, LoggedEvent } from '#cmd/orchctl/commands/audit/filter.js';
import { logLines } from '#cmd/orchctl/commands/audit/lines.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';

export interface SearchReport {
  /** Lines that are no events. */
  readonly unreadable: number;
}

/** A request whose end has not been read yet. */
interface Waiting {
  readonly event: LoggedEvent;
  readonly line: string;
}

/** Limit of requests whose end is waited for; the oldest are then shown as they are. */
const maxWaiting = 10_000;

/** Calls `show` with each event that matches, in the order of the log. */
export async function shownEvents(
  invocation: Invocation,
  filter: EventFilter,
  show: (event: LoggedEvent, line: string) => void,
): Promise<SearchReport> {
  const waiting = new Map<string, Waiting>();
  let unreadable = 0;
  const showIfMatching = ({ event, line }: Waiting) => {
    if (filter.matches(event)) show(event, line);
  };
  for await (const line of logLines(invocation, filter.sinceMs)) {
    if (line.trim() === '') continue;
    const event = loggedEvent(line);
    if (event === undefined) {
      unreadable += 1;
      continue;
    }
    if (!filter.lastStage) showIfMatching({ event, line });
    else if (event.stage === 'RequestReceived' || event.stage === 'ResponseStarted') {
      waiting.set(event.auditID, { event, line });
      const [oldest] = waiting.size > maxWaiting ? waiting : [];
      if (oldest === undefined) continue;
      waiting.delete(oldest[0]);
      showIfMatching(oldest[1]);
    } else {
      waiting.delete(event.auditID);
      showIfMatching({ event, line });
    }
  }
  for (const unfinished of waiting.values()) showIfMatching(unfinished);
  return { unreadable };
}

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for text that is no audit event. Pure. */
function loggedEvent(line: string): LoggedEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const fields = fieldsOf(value);
  if (fields['kind'] !== 'Event' || textAt(fields, 'auditID') === '') return undefined;
  const ref = fieldsOf(fields['objectRef']);
  const code = fieldsOf(fields['responseStatus'])['code'];
  const ips = fields['sourceIPs'];
  return {
    auditID: textAt(fields, 'auditID'),
    stage: textAt(fields, 'stage'),
    requestURI: textAt(fields, 'requestURI'),
    verb: textAt(fields, 'verb'),
    user: textAt(fieldsOf(fields['user']), 'username'),
    impersonated: textAt(fieldsOf(fields['impersonatedUser']), 'username'),
    sourceIP: Array.isArray(ips) && typeof ips[0] === 'string' ? ips[0] : '',
    userAgent: textAt(fields, 'userAgent'),
    resource: textAt(ref, 'resource'),
    apiGroup: textAt(ref, 'apiGroup'),
    subresource: textAt(ref, 'subresource'),
    namespace: textAt(ref, 'namespace'),
    name: textAt(ref, 'name'),
    code: typeof code === 'number' ? code : 0,
    receivedMs: parseTime(textAt(fields, 'requestReceivedTimestamp')),
    stageMs: parseTime(textAt(fields, 'stageTimestamp')),
  };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function textAt(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}
