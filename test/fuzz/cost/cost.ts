/** The law of cost, tried out on a whole API server. */
import { schemeFor } from '#api/scheme.js';
import type { Clock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { certificateShapes } from '#test/fuzz/cost/certificates.js';
import { type LawResult, law } from '#test/fuzz/cost/law.js';
import { bodyShapes, ownShapes } from '#test/fuzz/cost/shapes.js';
import { storedShapes } from '#test/fuzz/cost/stored.js';
import { tenantServer } from '#test/fuzz/cost/tenant.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

export interface CostOptions {
  readonly seed: number;
  readonly milliseconds: number;
  readonly clock: Clock;
  readonly onInput?: (count: number) => void;
}

/** All that hostile clients think of, and places of kinds at random until the time is over. Throws an Error. */
export async function fuzzCost(options: CostOptions): Promise<LawResult> {
  return both(await tenantCost(options), await requestCost(options));
}

function both(a: LawResult, b: LawResult): LawResult {
  const { longest, longestOf } = a.longest > b.longest ? a : b;
  return { inputs: a.inputs + b.inputs, compared: a.compared + b.compared, longest, longestOf };
}

/** What others pay for that a tenant keeps much. */
async function tenantCost(options: CostOptions): Promise<LawResult> {
  const { server, stop, shapes } = await tenantServer();
  try {
    return await law(shapes, { ...options, server, dialect: kubernetesDialect, milliseconds: 600_000 });
  } finally {
    await stop();
  }
}

async function requestCost(options: CostOptions): Promise<LawResult> {
  const dialect = kubernetesDialect;
  const map = everyCase.find(({ resource }) => resource.resource === 'configmaps');
  if (map === undefined) throw new Error('no config maps');
  const { server, stop } = await runServer({ dialect, unfrozen: true, dependencies: { gate: gateFor(everyCase) } });
  try {
    await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
    const hostile = [...ownShapes(map), ...certificateShapes(), ...(await storedShapes(server))];
    const own = await law(hostile, { ...options, server, dialect, milliseconds: 600_000 });
    return both(own, await law(bodyShapes(schemeFor(dialect), dialect), { ...options, server, dialect }));
  } finally {
    await stop();
  }
}
