/** All kinds of requests that a client can have in flight when it leaves. */
import { asks, spdy, uploads, type Visit, webSocket } from '#test/e2e/leaving/client.js';

const get = (path: string, ...headers: string[]) =>
  asks(`GET ${path} HTTP/1.1\r\n${['Host: a', ...headers].join('\r\n')}\r\n\r\n`);

/** Visits that never send a complete request. */
export const leavesUnanswered = /^an upload|request/;

/** @param pod A running pod whose commands end with their input. @param node Where it runs. */
export function visits(pod: string, node: string, command: readonly string[]): Readonly<Record<string, Visit>> {
  const at = '/api/v1/namespaces/default';
  const words = command.map((word) => `command=${encodeURIComponent(word)}`).join('&');
  const exec = `${at}/pods/${pod}/exec?stdin=1&stdout=1&stderr=1&${words}`;
  const attach = `${at}/pods/${pod}/attach?stdout=1&stderr=1`;
  const forward = `${at}/pods/${pod}/portforward?ports=8080`;
  const commandStreams = ['error', 'stdin', 'stdout', 'stderr'].map((streamtype) => ({ streamtype }));
  const stdin = Buffer.from('\0hello\n');
  return {
    'exec over WebSocket': webSocket(exec, 'v5.channel.k8s.io', stdin),
    'exec over an old WebSocket': webSocket(exec, 'v4.channel.k8s.io', stdin),
    'exec over SPDY': spdy(exec, 'v4.channel.k8s.io', commandStreams),
    'attach over WebSocket': webSocket(attach, 'v5.channel.k8s.io'),
    'attach over SPDY': spdy(attach, 'v4.channel.k8s.io', [{ streamtype: 'error' }, { streamtype: 'stdout' }]),
    'port-forward over WebSocket': webSocket(forward, 'SPDY/3.1+portforward.k8s.io', Buffer.alloc(60)),
    'port-forward by channels': webSocket(forward, 'v4.channel.k8s.io', stdin),
    'port-forward over SPDY': spdy(forward, 'portforward.k8s.io', [
      { streamtype: 'error', port: '8080', requestid: '0' },
      { streamtype: 'data', port: '8080', requestid: '0' },
    ]),
    'follow a log': get(`${at}/pods/${pod}/log?follow=true`),
    'follow a log over WebSocket': webSocket(`${at}/pods/${pod}/log?follow=true`, ''),
    watch: get('/api/v1/pods?watch=true&allowWatchBookmarks=true'),
    'watch over WebSocket': webSocket('/api/v1/pods?watch=true', ''),
    'a large list': get(`${at}/configmaps`),
    'a large list, compressed': get(`${at}/configmaps`, 'Accept-Encoding: gzip'),
    'a proxied page': get(`${at}/pods/${pod}:8080/proxy/`),
    'a proxied log': get(`/api/v1/nodes/${node}/proxy/containerLogs/default/${pod}/main?follow=true`),
    'an upload': uploads(`${at}/configmaps`, false),
    'an upload in chunks': uploads(`${at}/configmaps`, true),
    'a request that stops': asks('GET /api/v1/po'),
    'no request': asks(''),
  };
}
