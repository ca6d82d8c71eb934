/** A version converted by another server: conversion takes time, comes in batches, and may fail. */
import t, { type Test } from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { internalError } from '#apimachinery/errors/status.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { RemoteConversion } from '#apiserver/resources/served-conversion.js';
import { Watching } from '#test/integration/apiserver/resources/watching.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const codec = new ObjectCodec(schemeFor(dialect));
const stable = '/apis/batch/v1/namespaces/default/cronjobs';
const beta = '/apis/batch/v1beta1/namespaces/default/cronjobs';
const spec = {
  schedule: '@hourly',
  jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } } },
};
const cronJob = (name: string) => ({ metadata: { name }, spec });

/** Marks converted objects, to prove that each was converted. */
class Remote implements RemoteConversion {
  readonly kind = 'remote';
  readonly pause = () => undefined;
  requireBounded(): void {}
  failing = false;
  /** Sizes of the batches received. */
  readonly batchSizes: number[] = [];

  toStored(object: ApiObjectShape): Promise<ApiObjectShape> {
    return this.#convert([object], 'batch/v1', 'in').then(([converted]) => converted ?? object);
  }

  fromStored(stored: readonly ApiObjectShape[]): Promise<readonly ApiObjectShape[]> {
    this.batchSizes.push(stored.length);
    return this.#convert(stored, 'batch/v1beta1', 'out');
  }

  between(objects: readonly ApiObjectShape[], apiVersion: string): Promise<readonly ApiObjectShape[]> {
    return this.#convert(objects, apiVersion, 'between');
  }

  async #convert(objects: readonly ApiObjectShape[], apiVersion: string, way: string): Promise<ApiObjectShape[]> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failing) throw internalError(new Error('conversion webhook for batch/v1, Kind=CronJob failed: gone'));
    return objects.map((object) => ({
      ...object,
      apiVersion,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [way]: 'yes' } },
    }));
  }
}

async function startRemote(t: Test): Promise<{ server: ApiServer; remote: Remote }> {
  const server = await startServer(t, { dialect });
  const served = server.resources.find('batch', 'v1beta1', 'cronjobs');
  if (served === undefined) throw new TypeError('no such version');
  const remote = new Remote();
  server.resources.remove(served);
  server.resources.add({ ...served, conversion: remote });
  return { server, remote };
}

t.test('all verbs wait for the conversion', async (t) => {
  const { server, remote } = await startRemote(t);
  const watching = await Watching.open(server, `${beta}?watch=true`, { accept: 'application/json', codec });
  const created = await call(server, 'POST', beta, { body: cronJob('a') });
  t.match(created, {
    status: 201,
    json: { apiVersion: 'batch/v1beta1', metadata: { annotations: { in: 'yes', out: 'yes' } } },
  });
  t.match((await call(server, 'GET', `${stable}/a`)).json, {
    apiVersion: 'batch/v1',
    metadata: { annotations: { in: 'yes' } },
  });
  await call(server, 'POST', stable, { body: cronJob('b') });
  remote.batchSizes.length = 0;
  const list = await call(server, 'GET', beta);
  t.match(list.json, {
    apiVersion: 'batch/v1beta1',
    items: [{ metadata: { annotations: { out: 'yes' } } }, { metadata: { annotations: { out: 'yes' } } }],
  });
  t.ok(remote.batchSizes.length <= 1, 'all objects in one batch, each once');
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = await call(server, 'PATCH', `${beta}/b`, { headers, body: { spec: { suspend: true } } });
  t.match(patched, { status: 200, json: { apiVersion: 'batch/v1beta1', spec: { suspend: true } } });
  t.match((await call(server, 'GET', `${stable}/b`)).json.spec, { suspend: true });
  for (const accept of [
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    dialect.protobufMediaType,
    'application/yaml',
  ]) {
    t.equal((await call(server, 'GET', beta, { headers: { accept } })).status, 200, accept);
  }
  t.equal((await call(server, 'GET', `${beta}?labelSelector=x=y`)).json.items.length, 0);
  const deleted = await call(server, 'DELETE', `${beta}?propagationPolicy=Background`);
  t.equal(deleted.status, 200);
  const events = await watching.until('DELETED');
  t.ok(events.every(({ object }) => Reflect.get(object, 'apiVersion') === 'batch/v1beta1'));
  await watching.close();
});

t.test('a failed conversion fails the request, and nothing is written', async (t) => {
  const { server, remote } = await startRemote(t);
  await call(server, 'POST', stable, { body: cronJob('a') });
  const watching = await Watching.open(server, `${beta}?watch=true`, { accept: 'application/json', codec });
  remote.failing = true;
  const failure = {
    status: 500,
    json: { kind: 'Status', reason: 'InternalError', message: /conversion webhook .* gone/ },
  };
  t.match(await call(server, 'GET', `${beta}/a`), failure, 'get');
  t.match(await call(server, 'GET', beta), failure, 'list');
  t.match(await call(server, 'POST', beta, { body: cronJob('b') }), failure, 'create');
  t.equal((await call(server, 'GET', `${stable}/b`)).status, 404);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { metadata: { labels: { x: 'y' } } };
  t.match(await call(server, 'PATCH', `${beta}/a`, { headers, body }), failure, 'patch');
  t.match(await call(server, 'DELETE', `${beta}/a`), failure, 'delete');
  t.equal((await call(server, 'GET', `${stable}/a`)).json.metadata.labels, undefined);
  const events = await watching.until('ERROR');
  t.match(events, [{ type: 'ERROR', object: { kind: 'Status', code: 500 } }], 'a watch reports the failure');
  await watching.close();
  remote.failing = false;
  t.equal((await call(server, 'GET', `${beta}/a`)).status, 200, 'and requests succeed again once the converter works');
});
