import type { Server } from 'node:https';
import type { FastifyInstance } from 'fastify';

/** What routes of daemons are added to. */
export type DaemonApp = FastifyInstance<Server>;
