#!/usr/bin/env node
/** The API server as a program of its own. */
import { networkInterfaces } from 'node:os';
import { buildApiServer } from '#apiserver/config.js';
import { apiServerOptions, apiServerProgramRules } from '#apiserver/options.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { type Program, run } from '#daemon/run.js';

const program: Program<ReturnType<typeof apiServerOptions>> = {
  name: (dialect) => dialect.components.apiServer,
  description:
    'Serves the cluster’s API: keeps its objects in etcd, decides who may do what, and validates, defaults and publishes every change.',
  options: apiServerOptions,
  rules: apiServerProgramRules,
  create: ({ values, dialect, clock, log, random }) =>
    buildApiServer({
      values,
      dialect,
      clock,
      log,
      random,
      metrics: createRegistry({ dialect, process }),
      machineAddresses: Object.values(networkInterfaces()).flatMap((addresses = []) =>
        addresses.filter(({ internal }) => !internal).map(({ address }) => address),
      ),
    }),
};

process.exitCode = await run(program, process);
