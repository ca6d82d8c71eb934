import type { Server } from 'node:https';
import type { FastifyInstance } from 'fastify';

/** The Fastify application that a daemon adds its routes to. */
export type DaemonApp = FastifyInstance<Server>;

function refuse(): never {
  throw new Error('routes have no schemas here');
}

/**
 * Value of `schemaController`: no route declares a schema, and loading fastify's schema compilers would take longer
 * than the rest of a server's construction.
 */
export const schemaless = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } };
