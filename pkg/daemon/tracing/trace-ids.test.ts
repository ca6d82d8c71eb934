import { ROOT_CONTEXT } from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import t from 'tap';
import { boundOf, shareOf, TraceIds } from '#daemon/tracing/trace-ids.js';

t.test('the sampler of the library keeps the chosen share', async (t) => {
  const ids = new TraceIds();
  let kept = 0;
  const disagreeing: string[] = [];
  for (const ratio of [0, 0.01, 0.5, 1]) {
    const sampler = new TraceIdRatioBasedSampler(ratio);
    for (let i = 0; i < 1000; i++) {
      const share = shareOf(`default/web-${i}`);
      const id = ids.withShare(share, ids.generateTraceId);
      const { decision } = sampler.shouldSample(ROOT_CONTEXT, id);
      const isKept = share < boundOf(ratio);
      if ((decision === SamplingDecision.RECORD_AND_SAMPLED) !== isKept) disagreeing.push(id);
      if (ratio === 0.5 && isKept) kept += 1;
    }
  }
  t.same(disagreeing, []);
  t.ok(kept > 400 && kept < 600, `${kept} of 1000 are about a half`);
});

t.test('IDs are well-formed and unique', async (t) => {
  const ids = new TraceIds();
  const traceIds = new Set(Array.from({ length: 100 }, () => ids.withShare(7, ids.generateTraceId)));
  traceIds.add(ids.generateTraceId());
  t.equal(traceIds.size, 101);
  for (const id of traceIds) t.match(id, /^[0-9a-f]{32}$/);
  t.match(ids.generateSpanId(), /^[0-9a-f]{16}$/);
});
