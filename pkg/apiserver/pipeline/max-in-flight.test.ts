import t from 'tap';
import { requestInfo } from '#apiserver/http/request-info.js';
import { MaxInFlight } from '#apiserver/pipeline/max-in-flight.js';

const request = {
  url: '',
  headers: {},
  body: Buffer.alloc(0),
  remoteAddress: '',
  signal: new AbortController().signal,
};

function context(method: string, url: string, group = 'users') {
  const each = { ...request, method, url };
  return { request: each, info: requestInfo(each), user: { name: 'a', groups: [group] } };
}

t.test('places by the kind of a request', async (t) => {
  const refused: string[] = [];
  const flow = new MaxInFlight({
    limits: { readOnly: 1, mutating: 1 },
    exemptGroup: 'masters',
    refused: (kind) => refused.push(kind),
  });
  const maps = '/api/v1/namespaces/a/configmaps';
  const leaves = [
    flow.enter(context('GET', maps), false),
    flow.enter(context('POST', maps), false),
    flow.enter(context('POST', '/apis/metrics.test/v1/things'), true),
  ];
  t.same(flow.current, { readOnly: 1, mutating: 2 }, 'all are counted');
  const rows: [admitted: boolean, what: string, context: ReturnType<typeof context>, passesOn: boolean][] = [
    [false, 'a second read', context('GET', maps), false],
    [false, 'a second write', context('POST', maps), false],
    [false, 'a second write to another server', context('POST', '/apis/metrics.test/v1/things'), true],
    [true, 'a read from another server', context('GET', '/apis/metrics.test/v1/things'), true],
    [true, 'a member of the exempt group', context('POST', maps, 'masters'), false],
    [true, 'a watch', context('GET', `${maps}?watch=1`), false],
    [true, 'a health check', context('GET', '/livez'), false],
    [true, 'one of the health checks', context('GET', '/readyz/ping'), false],
    [false, 'the version', context('GET', '/version'), false],
    [false, 'a path that resembles a health check', context('GET', '/livezz'), false],
  ];
  for (const [admitted, what, each, passesOn] of rows) {
    if (admitted) flow.enter(each, passesOn)();
    else t.throws(() => flow.enter(each, passesOn), /please try again later/, what);
  }
  t.same(refused, ['readOnly', 'mutating', 'mutating', 'readOnly', 'readOnly']);
  for (const leave of leaves) leave();
  t.same(flow.current, { readOnly: 0, mutating: 0 });
  flow.enter(context('POST', maps), false)();
});

t.test('no limit', async (t) => {
  const flow = new MaxInFlight({
    limits: { readOnly: 0, mutating: 0 },
    exemptGroup: 'masters',
    refused: () => t.fail(),
  });
  for (let i = 0; i < 1000; i++) flow.enter(context('POST', '/api/v1/nodes'), false);
  t.same(flow.current, { readOnly: 0, mutating: 1000 });
});
