/** Documents of extension servers are merged into this server's own; an invalid one affects no others. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import {
  type Aggregating,
  addExtension,
  ask,
  condition,
  startAggregating,
} from '#test/integration/apiserver/aggregation/aggregating-server.js';
import { type BadDocument, badDocuments } from '#test/integration/apiserver/aggregation/extension-server.js';

const isTrue = ({ status }: { status: string }) => status === 'True';

let aggregating: Aggregating;
t.before(async () => {
  aggregating = await startAggregating(t);
});

interface DocumentV2 {
  readonly paths: Record<string, { get: { responses: Record<string, { schema: { $ref: string } }> } }>;
  readonly definitions: Record<string, object>;
}

const v2 = async () => (await ask(aggregating, 'admin', 'GET', '/openapi/v2')).json as DocumentV2;

t.test('both document versions contain the extension server’s kinds', async (t) => {
  for (const name of ['first', 'second']) {
    await addExtension(t, aggregating, name);
    await condition(aggregating, `v1.${name}.example.com`, isTrue);
  }
  let document = await v2();
  while (document.paths['/apis/second.example.com/v1/echoes'] === undefined) {
    await realClock.sleep(20);
    document = await v2();
  }
  const refOf = (name: string) =>
    document.paths[`/apis/${name}.example.com/v1/echoes`]?.get.responses['200']?.schema.$ref ?? '';
  t.equal(refOf('first'), '#/definitions/com.example.Echo');
  t.equal(refOf('second'), '#/definitions/com.example.Echo_v2');
  t.match(document.definitions['com.example.Echo_v2'], { description: 'Of second.example.com.' });
  t.notOk('com.example.Version' in document.definitions, 'what is not of its version is left out');
  t.ok(document.paths['/apis/apps/v1/deployments'] !== undefined || Object.keys(document.paths).length > 100);
  const root = await ask(aggregating, 'admin', 'GET', '/openapi/v3');
  const at = '/openapi/v3/apis/first.example.com/v1';
  t.match(root.json.paths['apis/first.example.com/v1'], { serverRelativeURL: `${at}?hash=A1` });
  t.match(await ask(aggregating, 'alice', 'GET', `${at}?hash=A1`), { status: 200, json: { info: { title: /first/ } } });
  t.equal((await ask(aggregating, 'alice', 'GET', '/openapi//v3/apis/first.example.com/v1')).status, 404);
});

for (const bad of badDocuments) {
  t.test(bad, async (t) => {
    const name = `bad-${bad}`;
    const extension = await addExtension(t, aggregating, name, { documents: bad satisfies BadDocument });
    await condition(aggregating, `v1.${name}.example.com`, isTrue);
    const before = await v2();
    while (!extension.requestedPaths.includes('GET /openapi/v3')) {
      // Other requests do not wait for it.
      t.equal((await ask(aggregating, 'admin', 'GET', '/openapi/v3')).status, 200);
      if (bad === 'hanging') break;
      await realClock.sleep(20);
    }
    t.same((await v2()).definitions, before.definitions);
  });
}
