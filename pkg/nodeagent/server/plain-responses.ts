/** Error responses of the agent's server: plain text of release 1.24, which clients include in their messages. */
import type { FastifyReply } from 'fastify';
import type { Status } from '#apimachinery/errors/status.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { Refusal } from '#daemon/serving/daemon-server.js';
import { plain } from '#daemon/serving/plain-http.js';

/** Text of an error that occurs before any route. */
export function refusalText({ status, user, attributes }: Refusal): string {
  const { resource, subresource = '' } =
    attributes !== undefined && 'resource' in attributes ? attributes : { resource: '' };
  const verb = attributes?.verb ?? '';
  const requestText = `(user=${user?.name ?? ''}, verb=${verb}, resource=${resource}, subresource=${subresource})`;
  switch (status.code) {
    case 401:
      return 'Unauthorized';
    case 403:
      return `Forbidden ${requestText}`;
    case 404:
      return '404 page not found\n';
    case 500:
      return user === undefined ? internalText(status) : `Authorization error ${requestText}`;
    default:
      return internalText(status);
  }
}

function internalText({ message = '' }: Status): string {
  return `${message}\n`;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type Method = (typeof methods)[number];

/** Rejects methods without a route for the path. Bodies are not read. */
export function refuseOtherMethods(app: DaemonApp, url: string, routedMethods: readonly Method[]): void {
  const refuse = async (_request: unknown, reply: FastifyReply) => plain(reply, 405, '405: Method Not Allowed');
  app.route({
    method: methods.filter((method) => !routedMethods.includes(method)),
    url,
    onRequest: refuse,
    handler: refuse,
  });
}

/** Rejects all requests at and below a disabled path. */
export function refuseAll(app: DaemonApp, path: string, text: string): void {
  const refuse = async (_request: unknown, reply: FastifyReply) => plain(reply, 405, `${text}\n`);
  for (const url of [path, `${path}/*`]) app.route({ method: [...methods], url, onRequest: refuse, handler: refuse });
}
