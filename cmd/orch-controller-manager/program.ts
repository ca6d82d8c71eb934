/** The controller manager as a program of its own. */
import { readFile } from 'node:fs/promises';
import { createControlLoop } from '#client/control-loop/control-loop.js';
import { ControllerManager } from '#controllers/manager.js';
import {
  type ControllerManagerOptionTable,
  controllerManagerOptions,
  controllerManagerRules,
} from '#controllers/options/options.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import type { HealthCheck } from '#daemon/serving/health.js';

/** `facts`: what the metrics tell of the process. */
export function controllerManagerProgram(facts: ProcessFacts): Program<ControllerManagerOptionTable> {
  return {
    name: (dialect) => dialect.components.controllerManager,
    description: 'Runs the control loops that move the cluster from the state it is in to the state that is wanted.',
    options: controllerManagerOptions,
    rules: controllerManagerRules,
    create: (context) => create(context, facts),
  };
}

async function create(context: ProgramContext<ControllerManagerOptionTable>, facts: ProcessFacts): Promise<Daemon> {
  const { values, dialect, clock, random, log } = context;
  const name = dialect.components.controllerManager;
  const metrics = createRegistry({ dialect, process: facts });
  const rootCA = await rootCertificates(values['root-ca-file']);
  return createControlLoop({
    context,
    name,
    eventSource: name,
    metrics,
    create: ({ client, connection, recorder, leadership }) => {
      const manager = new ControllerManager(values, {
        client,
        clientFor: (controller) => connection.client(controller),
        dialect,
        clock,
        random,
        log,
        events: recorder,
        metrics,
        ...(leadership === undefined ? {} : { leadership }),
        ...(rootCA === undefined ? {} : { rootCA }),
      });
      return { loop: manager, checks: [controllersCheck(manager)] };
    },
  });
}

function controllersCheck(manager: ControllerManager): HealthCheck {
  return {
    name: 'controllers',
    check: () => {
      const failed = [...manager.states()].filter(([, state]) => state === 'failed').map(([controller]) => controller);
      if (failed.length > 0) throw new Error(`failed: ${failed.join(', ')}`);
    },
  };
}

async function rootCertificates(file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file === '') return undefined;
  const text = await readFile(file, 'utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new OptionsError([`--root-ca-file: ${file} holds no certificate in PEM form`]);
  }
  return text;
}
