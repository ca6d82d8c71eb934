import t from 'tap';
import { formatTraceparent, parseTraceparent } from '#daemon/tracing/trace-ids.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

t.test('a formatted header can be parsed', async (t) => {
  for (const sampled of [true, false])
    t.same(parseTraceparent(formatTraceparent({ traceId, spanId, sampled })), { traceId, spanId, sampled });
  t.match(parseTraceparent(`01-${traceId}-${spanId}-03-later`), { traceId, sampled: true });
});

t.test('invalid headers are ignored', async (t) => {
  for (const text of [
    undefined,
    '',
    'x'.repeat(100_000),
    `00-${traceId}-${spanId}`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
  ])
    t.equal(parseTraceparent(text), undefined, text?.slice(0, 60) ?? 'absent');
});
