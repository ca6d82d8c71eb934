import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { request } from 'node:https';
import { test } from 'node:test';
import { startCluster } from '../index.js';

test('a cluster answers, and is gone after stop', async () => {
  const cluster = await startCluster({ controllers: 'none' });
  const { url, ca, clientCertificate: cert, clientKey: key, kubeconfig, env } = cluster;
  const status = await new Promise((resolve, reject) => {
    request(`${url}/api/v1/namespaces/default`, { ca, cert, key, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
  assert.equal(status, 200);
  assert.equal(env.KUBECONFIG, kubeconfig);
  assert.ok(existsSync(kubeconfig));
  await cluster.stop();
  await cluster.stop();
  assert.ok(!existsSync(kubeconfig));
});

test('a start that fails tells why', async () => {
  await assert.rejects(startCluster({ controllers: 'nonsense' }), /unknown controller "nonsense"/);
  await assert.rejects(startCluster({ program: '/nonsense' }), /cannot run \/nonsense/);
});
