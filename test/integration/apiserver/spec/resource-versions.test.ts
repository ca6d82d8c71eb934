/** Specification 1, 4.6: the data that a get or list returns for each combination of version and paging. */
import t from 'tap';
import { covers, type RuleId } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  dialect,
  forgetHistory,
  mergePatch,
  namesOf,
  type Response,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

/** An object as an item of a list, which names the kind for all items. */
function asItem({ kind: _, apiVersion: __, ...item }: Record<string, unknown>): object {
  return item;
}

t.test('resource versions', withEtcd, async (t) => {
  const { client: a, etcd } = await startSpec(t);
  const { client: b } = await serveOver(t, etcd);
  const path = configMaps('versions');
  await a.make(path, configMap('one', { n: '1' }));
  await a.make(path, configMap('two', { n: '1' }));
  const old: string = (await a.make(path, configMap('three', { n: '1' }))).metadata.resourceVersion;
  await a.patch(`${path}/one`, mergePatch, { data: { n: '2' } });
  await a.delete(`${path}/two`);
  const current: string = (await a.get(path)).json.metadata.resourceVersion;

  const stateOf = ({ json }: Response) =>
    json.items.map(
      (item: { metadata: { name: string }; data: { n: string } }) => `${item.metadata.name}=${item.data.n}`,
    );
  const then = ['one=1', 'three=1', 'two=1'];
  const now = ['one=2', 'three=1'];

  await covers(t, ['4.6 opaque'], 'returned versions are accepted', async (t) => {
    t.match(current, /^\S+$/);
    t.not(current, old);
    const again = (await b.get(path)).json.metadata.resourceVersion;
    t.equal((await b.get(`${path}?resourceVersion=${again}`)).status, 200);
    for (const text of ['abc', '-1', '1.5', '0x10', '18446744073709551616']) {
      const why = text === '18446744073709551616' ? 'value out of range' : 'invalid syntax';
      const message = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${why}`;
      for (const url of [path, `${path}/one`]) {
        const refused = await a.get(`${url}?resourceVersion=${text}`);
        t.match(refused.json, { code: 500, message }, `${url} ${text}`);
      }
    }
  });

  await covers(
    t,
    ['4.6 get unset', '4.6 list unset, unpaged, unset', '4.6.3'],
    'most recent, on each server',
    async (t) => {
      for (let i = 0; i < 20; i += 1) {
        const [writer, reader] = i % 2 === 0 ? [a, b] : [b, a];
        const written = (await writer.patch(`${path}/three`, mergePatch, { data: { n: `x${i}` } })).json;
        const got = (await reader.get(`${path}/three`)).json;
        t.same(got, written);
        const list = (await reader.get(path)).json;
        t.same(list.items.at(-1), asItem(written), 'in the list too');
        t.ok(BigInt(list.metadata.resourceVersion) >= BigInt(written.metadata.resourceVersion));
      }
      await a.patch(`${path}/three`, mergePatch, { data: { n: '1' } });
    },
  );

  await covers(
    t,
    ['4.6 get 0', '4.6 list unset, unpaged, 0', '4.6 list NotOlderThan, unpaged, 0'],
    'any',
    async (t) => {
      t.equal((await b.get(`${path}/one?resourceVersion=0`)).json.metadata.name, 'one');
      t.same(namesOf((await b.get(`${path}?resourceVersion=0`)).json), ['one', 'three']);
      const explicit = await b.get(`${path}?resourceVersion=0&resourceVersionMatch=NotOlderThan`);
      t.same(namesOf(explicit.json), ['one', 'three']);
      t.match(explicit.json.metadata.resourceVersion, /^\d+$/);
    },
  );

  await covers(t, ['4.6 list unset, limit, 0', '4.6 list NotOlderThan, limit, 0'], 'any, in pages', async (t) => {
    for (const match of ['', '&resourceVersionMatch=NotOlderThan']) {
      const page = (await b.get(`${path}?resourceVersion=0&limit=1${match}`)).json;
      t.same(namesOf(page), ['one']);
      const rest = (await b.get(`${path}?limit=1&continue=${page.metadata.continue}`)).json;
      t.same(namesOf(rest), ['three']);
      t.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion);
    }
  });

  await covers(
    t,
    ['4.6 get other', '4.6 list unset, unpaged, other', '4.6 list NotOlderThan, unpaged, other', '4.6.2'],
    'not older than',
    async (t) => {
      const written = (await a.patch(`${path}/one`, mergePatch, { metadata: { labels: { fresh: 'yes' } } })).json;
      const version = written.metadata.resourceVersion;
      t.same((await b.get(`${path}/one?resourceVersion=${version}`)).json, written);
      t.equal((await b.get(`${path}/one?resourceVersion=${old}`)).json.data.n, '2', 'a newer version is allowed');
      for (const match of ['', '&resourceVersionMatch=NotOlderThan']) {
        const list = (await b.get(`${path}?resourceVersion=${version}${match}`)).json;
        t.ok(BigInt(list.metadata.resourceVersion) >= BigInt(version));
        t.same(list.items[0], asItem(written));
        const older = await b.get(`${path}?resourceVersion=${old}${match}`);
        t.same(stateOf(older), now, 'not the old state');
      }
      t.equal((await b.get(`${path}/none?resourceVersion=${version}`)).status, 404);
    },
  );

  await covers(t, ['4.6 list unset, limit, unset'], 'most recent, in pages', async (t) => {
    const created = await a.make(path, configMap('four', { n: '1' }));
    const first = (await b.get(`${path}?limit=1`)).json;
    t.ok(BigInt(first.metadata.resourceVersion) >= BigInt(created.metadata.resourceVersion));
    const rest = (await b.get(`${path}?limit=9&continue=${first.metadata.continue}`)).json;
    t.same([...namesOf(first), ...namesOf(rest)], ['one', 'four', 'three'].sort());
    await a.delete(`${path}/four`);
  });

  await covers(t, ['4.6 list NotOlderThan, limit, other', '4.6.4'], 'not older than, in pages', async (t) => {
    // Otherwise this server may still answer with the object that the other one has just deleted.
    await b.get(path);
    const first = (await b.get(`${path}?resourceVersion=${old}&resourceVersionMatch=NotOlderThan&limit=1`)).json;
    t.ok(BigInt(first.metadata.resourceVersion) > BigInt(old));
    t.equal(first.items[0].data.n, '2');
    const rest = (await b.get(`${path}?limit=9&continue=${first.metadata.continue}`)).json;
    t.same(namesOf(rest), ['three']);
  });

  const exact: [RuleId, string][] = [
    ['4.6 list unset, limit, other', 'limit=9'],
    ['4.6 list Exact, unpaged, other', 'resourceVersionMatch=Exact'],
    ['4.6 list Exact, limit, other', 'resourceVersionMatch=Exact&limit=9'],
  ];
  for (const [rule, query] of exact) {
    await covers(t, [rule, '4.6.5'], 'exactly that version', async (t) => {
      for (const client of [a, b]) {
        const list = await client.get(`${path}?${query}&resourceVersion=${old}`);
        t.equal(list.json.metadata.resourceVersion, old);
        t.same(stateOf(list), then);
      }
    });
  }

  await covers(t, ['4.6 list Exact, limit, other'], 'and its further pages', async (t) => {
    const first = (await a.get(`${path}?resourceVersionMatch=Exact&resourceVersion=${old}&limit=2`)).json;
    t.same(namesOf(first), ['one', 'three']);
    t.equal(first.metadata.remainingItemCount, 1);
    const rest = (await b.get(`${path}?limit=2&continue=${first.metadata.continue}`)).json;
    t.same(namesOf(rest), ['two'], 'on the other server');
    t.equal(rest.metadata.resourceVersion, old);
  });

  const token = async () => (await a.get(`${path}?limit=1`)).json.metadata;
  await covers(
    t,
    ['4.6 list unset, continue, unset', '4.6 list unset, continue, 0'],
    'the version of the first page',
    async (t) => {
      const { continue: next, resourceVersion } = await token();
      await a.patch(`${path}/three`, mergePatch, { data: { n: 'later' } });
      for (const version of ['', '&resourceVersion=0']) {
        const page = await b.get(`${path}?limit=5&continue=${next}${version}`);
        t.equal(page.json.metadata.resourceVersion, resourceVersion);
        t.same(stateOf(page), ['three=1']);
      }
      await a.patch(`${path}/three`, mergePatch, { data: { n: '1' } });
    },
  );

  await covers(t, ['4.6 list unset, continue, other'], 'refused', async (t) => {
    const { continue: next, resourceVersion } = await token();
    const refused = await a.get(`${path}?limit=1&continue=${next}&resourceVersion=${resourceVersion}`);
    t.match(refused.json, {
      status: 'Failure',
      code: 400,
      reason: 'BadRequest',
      message: 'specifying resource version is not allowed when using continue',
    });
  });

  const group = dialect.groupName('meta');
  const unless = 'resourceVersionMatch is forbidden unless resourceVersion is provided';
  const zero = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
  const invalid: [RuleId, string, string][] = [
    ['4.6 list Exact, unpaged, unset', 'resourceVersionMatch=Exact', unless],
    ['4.6 list Exact, unpaged, 0', 'resourceVersionMatch=Exact&resourceVersion=0', zero],
    ['4.6 list Exact, limit, unset', 'resourceVersionMatch=Exact&limit=2', unless],
    ['4.6 list Exact, limit, 0', 'resourceVersionMatch=Exact&resourceVersion=0&limit=2', zero],
    ['4.6 list NotOlderThan, unpaged, unset', 'resourceVersionMatch=NotOlderThan', unless],
    ['4.6 list NotOlderThan, limit, unset', 'resourceVersionMatch=NotOlderThan&limit=2', unless],
  ];
  for (const [rule, query, detail] of invalid) {
    await covers(t, [rule, '4.6.1'], 'refused with the reason', async (t) => {
      for (const [method, url] of [
        ['GET', path],
        ['GET', '/api/v1/configmaps'],
        ['DELETE', path],
      ] as const) {
        const { status, json } = await a.ask(method, `${url}?${query}`);
        t.equal(status, dialect.invalidCombination);
        t.same(json, {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `ListOptions.${group} "" is invalid: resourceVersionMatch: Forbidden: ${detail}`,
          reason: dialect.invalidCombination === 400 ? 'BadRequest' : 'Invalid',
          details: {
            group,
            kind: 'ListOptions',
            causes: [{ reason: 'FieldValueForbidden', message: `Forbidden: ${detail}`, field: 'resourceVersionMatch' }],
          },
          code: dialect.invalidCombination,
        });
      }
    });
  }

  await covers(t, ['4.6.1'], 'all failures are reported at once', async (t) => {
    const { continue: next } = await token();
    const many = await a.get(`${path}?resourceVersionMatch=Exact&continue=${next}`);
    t.equal(many.json.details.causes.length, 2);
    const unknown = await a.get(`${path}?resourceVersionMatch=Sometimes&resourceVersion=${current}`);
    t.match(unknown.json, {
      code: 422,
      reason: 'Invalid',
      details: {
        causes: [
          {
            reason: 'FieldValueNotSupported',
            message: 'Unsupported value: "Sometimes": supported values: "Exact", "NotOlderThan", ""',
          },
        ],
      },
    });
  });

  await covers(t, ['4.6 unrecognized, get', '4.6 unrecognized, list'], 'waits a little, then 504', async (t) => {
    const urls = [`${path}/one?`, `${path}?`, `${path}?limit=2&`, `${path}?resourceVersionMatch=Exact&`];
    const answers = await Promise.all(urls.map((url) => a.get(`${url}resourceVersion=99999999`)));
    for (const { status, headers, json } of answers) {
      t.equal(status, 504);
      t.equal(headers['retry-after'], '1');
      t.match(json, {
        kind: 'Status',
        status: 'Failure',
        code: 504,
        reason: 'Timeout',
        message: /^Timeout: Too large resource version: 99999999, current: \d+$/,
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
      });
    }
  });

  await covers(t, ['4.6 unrecognized, list'], 'or the version is reached while the request waits', async (t) => {
    const { metadata } = (await a.get(path)).json;
    const soon = String(BigInt(metadata.resourceVersion) + 1n);
    const waiting = b.get(`${path}?resourceVersion=${soon}`);
    await a.make(path, configMap('awaited'));
    const list = await waiting;
    t.equal(list.status, 200);
    t.ok(namesOf(list.json).includes('awaited'));
  });

  await covers(t, ['4.6 unrecognized, watch'], 'waits until the version is reached', async (t) => {
    const { metadata } = (await a.get(path)).json;
    const future = String(BigInt(metadata.resourceVersion) + 2n);
    const watch = await b.watch(t, `${path}?watch=1&resourceVersion=${future}`);
    t.equal(watch.status, 200);
    for (const n of ['1', '2', '3']) await a.patch(`${path}/three`, mergePatch, { data: { n: `w${n}` } });
    const [event] = await watch.until(1);
    t.equal(event?.object.data.n, 'w3', 'earlier changes are not sent');
    watch.close();
  });

  await covers(t, ['4.6 list Exact, unpaged, other', '4.6.4'], 'forgotten versions give 410', async (t) => {
    await forgetHistory(etcd);
    for (const query of ['resourceVersionMatch=Exact', 'limit=2', 'resourceVersionMatch=Exact&limit=2']) {
      const gone = await b.get(`${path}?${query}&resourceVersion=${old}`);
      t.equal(gone.status, 410);
      t.same(gone.json, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'The resourceVersion for the provided list is too old.',
        reason: 'Expired',
        code: 410,
      });
    }
    t.equal((await b.get(`${path}?resourceVersion=${old}&resourceVersionMatch=NotOlderThan&limit=2`)).status, 200);
  });
});
