import type { FastifyInstance } from 'fastify';
import type { Server } from 'node:https';

/** What routes of daemons are added to. */
export type DaemonApp = FastifyInstance<Server>;

/** A setting of fastify: no route declares a schema, and without it fastify loads compilers of schemas at its start. */

function refuse(): never {
  throw new Error('routes have no schemas here');
}

/** For `schemaController`. Loading the compilers would take longer than all the rest of a server's construction. */
export const schemaless = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } };
