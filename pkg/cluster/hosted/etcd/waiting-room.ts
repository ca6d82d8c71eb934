/**
 * A pod that waits without data says so on the port of etcd's peers, with etcd's certificates, so that the first pod may begin a
 * cluster.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { ForeignEtcd } from '#cluster/config/start-options.js';

const path = '/orch/no-data';
const word = 'no data\n';
const askMs = 2000;

type Files = Pick<ForeignEtcd, 'caFile' | 'certFile' | 'keyFile'>;

function readAll({ caFile = '', certFile = '', keyFile = '' }: Files): { ca: Buffer; cert: Buffer; key: Buffer } {
  return { ca: readFileSync(caFile), cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

/** Listens until the returned function is called. Rejects where the port is taken. */
export async function openWaitingRoom(port: number, files: Files): Promise<() => Promise<void>> {
  const options = { ...readAll(files), requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, ({ url }, answer) => {
    answer.writeHead(url === path ? 200 : 404, { connection: 'close' }).end(url === path ? word : '');
  });
  server.listen(port);
  await once(server, 'listening');
  return async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
}

/** Whether the pod at that peer URL waits without data; false without an answer. */
export async function waitsWithoutData(peerURL: string, files: Files): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request(new URL(path, peerURL), { ...readAll(files), agent: false, timeout: askMs }, (answer) => {
      let text = '';
      answer.on('data', (piece: Buffer) => {
        text = (text + piece.toString()).slice(0, word.length + 1);
      });
      answer.on('end', () => resolve(answer.statusCode === 200 && text === word));
      answer.on('error', () => resolve(false));
    });
    asking.on('timeout', () => asking.destroy(new Error('no answer')));
    asking.on('error', () => resolve(false));
    asking.end();
  });
}
