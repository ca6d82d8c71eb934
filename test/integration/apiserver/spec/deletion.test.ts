/** Specification 1, 3.1: deletion in two phases, with all options of clients. */
import t from 'tap';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  forgetHistory,
  mergePatch,
  namesOf,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const pods = '/api/v1/namespaces/deletion/pods';
const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const options = (fields: object) => ({ kind: 'DeleteOptions', apiVersion: 'v1', ...fields });
const hold = { finalizers: ['example.com/a', 'example.com/b'] };

t.test('deletion', withEtcd, async (t) => {
  const { client, etcd } = await startSpec(t);
  const path = configMaps('deletion');

  await covers(t, ['3.1 live'], 'without finalizers the object is removed at once', async (t) => {
    const { metadata } = await client.make(path, configMap('plain'));
    const { status, json } = await client.delete(`${path}/plain`);
    t.equal(status, 200);
    t.same(json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'plain', kind: 'configmaps', uid: metadata.uid },
    });
    t.same((await client.delete(`${path}/plain`)).json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "plain" not found',
      reason: 'NotFound',
      details: { name: 'plain', kind: 'configmaps' },
      code: 404,
    });
  });

  await covers(
    t,
    [
      '3.1 live',
      '3.1 finalizing, some remain',
      '3.1 finalizing, last removed',
      '3.1.1',
      '2.3 deletionTimestamp',
      '2.3 finalizers',
    ],
    'an object with finalizers is marked and stays until the last is removed',
    async (t) => {
      const watch = await client.watch(t, `${path}?watch=1`);
      const before = Math.floor(Date.now() / 1000) * 1000;
      await client.make(path, configMap('held', {}, hold));
      const marked = await client.delete(`${path}/held`);
      t.equal(marked.status, 200);
      t.match(marked.json, { kind: 'ConfigMap', metadata: { deletionGracePeriodSeconds: 0, ...hold } });
      const { deletionTimestamp } = marked.json.metadata;
      t.ok(Date.parse(deletionTimestamp) >= before && Date.parse(deletionTimestamp) <= Date.now() + 1000);
      const again = await client.delete(`${path}/held`);
      t.same(again.json, marked.json, 'a second request changes nothing');
      const patched = await client.patch(`${path}/held`, mergePatch, { metadata: { deletionTimestamp: null } });
      t.equal(patched.json.metadata.deletionTimestamp, deletionTimestamp, 'the mark cannot be removed');
      const reordered = { metadata: { finalizers: ['example.com/b', 'example.com/a'] } };
      t.equal(
        (await client.patch(`${path}/held`, mergePatch, reordered)).status,
        200,
        'any client may reorder finalizers',
      );
      const more = { metadata: { finalizers: ['example.com/b', 'example.com/a', 'example.com/c'] } };
      const refused = await client.patch(`${path}/held`, mergePatch, more);
      t.match(refused.json, {
        code: 422,
        reason: 'Invalid',
        message:
          /^ConfigMap "held" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"example.com\/c"\}$/,
      });
      t.equal((await client.patch(`${path}/held`, mergePatch, { data: { x: '1' } })).status, 200, 'it can be changed');
      t.equal((await client.post(path, configMap('held'))).status, 409, 'its name is still in use');
      await client.patch(`${path}/held`, mergePatch, { metadata: { finalizers: ['example.com/a'] } });
      t.match((await client.get(`${path}/held`)).json.metadata, { finalizers: ['example.com/a'], deletionTimestamp });
      const last = await client.patch(`${path}/held`, mergePatch, { metadata: { finalizers: null } });
      t.equal(last.status, 200);
      t.equal((await client.get(`${path}/held`)).status, 404);
      const events = await watch.until(6);
      t.same(
        events.map(({ type }) => type),
        ['ADDED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'],
        'marked, reordered, changed, one finalizer removed, deleted',
      );
      watch.close();
    },
  );

  await covers(t, ['3.1.2'], 'a watch from before the available history', async (t) => {
    await forgetHistory(etcd);
    const { client: late } = await serveOver(t, etcd);
    const watch = await late.watch(t, `${path}?watch=1&resourceVersion=1`);
    t.match(await watch.end(), [{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
  });

  await covers(t, ['3.1 live'], 'preconditions', async (t) => {
    const { metadata } = await client.make(path, configMap('pre'));
    const { uid, resourceVersion } = metadata;
    const wrong = await client.delete(`${path}/pre`, options({ preconditions: { uid: 'other' } }));
    t.same(wrong.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        `Operation cannot be fulfilled on ConfigMap "pre": the UID in the precondition (other) does not match the UID ` +
        `in record (${uid}). The object might have been deleted and then recreated`,
      reason: 'Conflict',
      details: { name: 'pre', kind: 'ConfigMap' },
      code: 409,
    });
    const stale = await client.delete(`${path}/pre`, options({ preconditions: { resourceVersion: '1' } }));
    t.match(stale.json, {
      code: 409,
      message:
        'Operation cannot be fulfilled on ConfigMap "pre": the ResourceVersion in the precondition (1) does not match the ' +
        `ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    });
    t.equal((await client.delete(`${path}/pre`, options({ preconditions: { uid, resourceVersion } }))).status, 200);
  });

  await covers(t, ['3.1 live'], 'propagation policies', async (t) => {
    const rows: [object | string, number, string[]][] = [
      [{ propagationPolicy: 'Orphan' }, 200, ['orphan']],
      [{ propagationPolicy: 'Foreground' }, 200, ['foregroundDeletion']],
      [{ orphanDependents: true }, 200, ['orphan']],
      ['?propagationPolicy=Foreground', 200, ['foregroundDeletion']],
      ['?orphanDependents=true', 200, ['orphan']],
      [{ propagationPolicy: 'Background' }, 200, []],
      [{ orphanDependents: false }, 200, []],
    ];
    for (const [request, status, finalizers] of rows) {
      await client.make(path, configMap('p'));
      const answer =
        typeof request === 'string'
          ? await client.delete(`${path}/p${request}`)
          : await client.delete(`${path}/p`, options(request));
      t.equal(answer.status, status, JSON.stringify(request));
      if (finalizers.length === 0) t.equal(answer.json.kind, 'Status');
      else {
        t.same(answer.json.metadata.finalizers, finalizers);
        t.match(answer.json.metadata.deletionTimestamp, /Z$/);
        await client.patch(`${path}/p`, mergePatch, { metadata: { finalizers: null } });
      }
      t.equal((await client.get(`${path}/p`)).status, 404);
    }
    await client.make(path, configMap('q', {}, hold));
    const accepted = await client.delete(`${path}/q`, options({ orphanDependents: false }));
    t.equal(accepted.status, 202, 'not done yet, in the oldest way of asking');
    const group = 'meta.k8s.io';
    const refusals: [object, string, string][] = [
      [
        { propagationPolicy: 'Some' },
        'NotSupported',
        'Unsupported value: "Some": supported values: "Foreground", "Background", "Orphan", "nil"',
      ],
      [
        { propagationPolicy: 'Orphan', orphanDependents: true },
        'Invalid',
        'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
      ],
    ];
    for (const [fields, reason, message] of refusals) {
      t.same((await client.delete(`${path}/q`, options(fields))).json, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `DeleteOptions.${group} "" is invalid: propagationPolicy: ${message}`,
        reason: 'Invalid',
        details: {
          group,
          kind: 'DeleteOptions',
          causes: [{ reason: `FieldValue${reason}`, message, field: 'propagationPolicy' }],
        },
        code: 422,
      });
    }
    t.equal((await client.delete(`${path}/q`, { kind: 'ConfigMap', apiVersion: 'v1' })).status, 500, 'no options');
    t.equal((await client.delete(`${path}/q?gracePeriodSeconds=soon`)).status, 400);
  });

  await covers(t, ['3.1 finalizing, some remain'], 'grace periods of pods', async (t) => {
    await client.make(pods, pod('waiting'));
    t.match((await client.delete(`${pods}/waiting`)).json, { kind: 'Pod', metadata: { name: 'waiting' } });
    t.equal((await client.get(`${pods}/waiting`)).status, 404, 'no node runs it');
    const rows: [string, object | undefined, number][] = [
      ['default', undefined, 30],
      ['own', undefined, 7],
      ['requested', options({ gracePeriodSeconds: 5 }), 5],
    ];
    for (const [name, body, seconds] of rows) {
      const own = name === 'own' ? { terminationGracePeriodSeconds: 7 } : {};
      await client.make(pods, pod(name, { nodeName: 'n1', ...own }));
      const sent = Math.floor(Date.now() / 1000) * 1000;
      const { metadata } = (await client.delete(`${pods}/${name}`, body)).json;
      t.equal(metadata.deletionGracePeriodSeconds, seconds);
      const after = Date.parse(metadata.deletionTimestamp) - sent;
      t.ok(after >= seconds * 1000 && after < (seconds + 10) * 1000, 'its deletion time');
    }
    const shorter = (await client.delete(`${pods}/default`, options({ gracePeriodSeconds: 10 }))).json.metadata;
    t.equal(shorter.deletionGracePeriodSeconds, 10, 'shorter is possible');
    const longer = (await client.delete(`${pods}/default`, options({ gracePeriodSeconds: 60 }))).json.metadata;
    t.equal(longer.deletionGracePeriodSeconds, 10, 'longer is not');
    t.equal((await client.delete(`${pods}/default?gracePeriodSeconds=0`)).status, 200);
    t.equal((await client.get(`${pods}/default`)).status, 404, 'at once');
    await client.make(pods, pod('far', { nodeName: 'n1' }));
    const far = await client.delete(`${pods}/far`, options({ gracePeriodSeconds: Number.MAX_SAFE_INTEGER }));
    t.equal(far.json.metadata.deletionTimestamp, '9999-12-31T23:59:59Z', 'for ever');
    const negative = await client.delete(`${pods}/requested?gracePeriodSeconds=-1`);
    t.equal(negative.status, 200, 'a negative one means one second');
    t.equal((await client.get(`${pods}/requested`)).json.metadata.deletionGracePeriodSeconds, 1);
  });

  await covers(t, ['3.1 live'], 'a collection: selected objects are removed and returned', async (t) => {
    const all = configMaps('many');
    for (const name of ['a', 'b', 'c']) {
      await client.make(all, configMap(name, {}, { labels: { go: name === 'b' ? 'no' : 'yes' } }));
    }
    await client.make(all, configMap('d', {}, { labels: { go: 'yes' }, ...hold }));
    const gone = await client.delete(`${all}?labelSelector=go=yes`);
    t.equal(gone.status, 200);
    t.match(gone.json, { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: /^\d+$/ } });
    t.same(namesOf(gone.json), ['a', 'c', 'd']);
    const left = (await client.get(all)).json;
    t.same(namesOf(left), ['b', 'd']);
    t.match(left.items[1].metadata.deletionTimestamp, /Z$/, 'objects with finalizers are marked');
    const some = await client.delete(`${all}?limit=1`);
    t.same(namesOf(some.json), ['b'], 'at most the requested number');
    t.same(namesOf((await client.get(all)).json), ['d']);
    t.equal((await client.delete('/api/v1/configmaps')).status, 405, 'not across namespaces');
  });
});
