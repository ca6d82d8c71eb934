/** How each controller talks to the API server: as whom, and how often. */
import type { Client } from '#client/client.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import type { LoopDependencies } from '#control-loop/control-loop.js';
import type { ControllerManagerDependencies } from '#controllers/manager.js';
import { serviceAccountOf } from '#controllers/options/names.js';
import type { ControllerManagerOptionTable } from '#controllers/options/options.js';
import type { ProgramContext } from '#daemon/run.js';
import type { TokenSource } from '#http/client/credentials.js';

/**
 * Multiples of `--orch-api-qps` and `--orch-api-burst`, as in 1.24: a namespace that ends takes many calls, and a
 * deletion by the garbage collector two.
 */
const rates: Readonly<Record<string, { readonly qps: number; readonly burst: number }>> = {
  namespace: { qps: 20, burst: 100 },
  garbagecollector: { qps: 2, burst: 1 },
};

/** Clients and recorders, made once and kept from one term of leading to the next. */
export function controllerClients(
  { values, dialect, clock }: ProgramContext<ControllerManagerOptionTable>,
  { connection, recorderFor }: Pick<LoopDependencies, 'connection' | 'recorderFor'>,
): Required<Pick<ControllerManagerDependencies, 'clientFor' | 'events'>> {
  // Tokens must not wait behind anything else.
  const tokenClient = connection.client('token-requests');
  const tokenOf = kept((controller: string): TokenSource | undefined => {
    // Accounts cannot act before their tokens are signed, and no account may read the secrets of all.
    if (!values['use-service-account-credentials'] || controller === 'serviceaccount-token') return undefined;
    const account = { namespace: dialect.namespaces.system, name: serviceAccountOf(controller) };
    return new ServiceAccountToken({ client: tokenClient, clock, ...account });
  });
  const clientFor = kept((controller: string): Client => {
    const token = tokenOf(controller);
    const { qps, burst } = rates[controller] ?? { qps: 1, burst: 1 };
    const rate = { qps: values['orch-api-qps'] * qps, burst: values['orch-api-burst'] * burst };
    return (token === undefined ? connection : connection.as(token)).client(serviceAccountOf(controller), rate);
  });
  const recorders = kept((controller: string) =>
    kept((component: string) => recorderFor(component, tokenOf(controller))),
  );
  return { clientFor, events: (component, controller) => recorders(controller)(component) };
}

/** The function, which is called once for each key. */
function kept<V>(make: (key: string) => V): (key: string) => V {
  const known = new Map<string, V>();
  return (key) => {
    const value = known.get(key) ?? make(key);
    known.set(key, value);
    return value;
  };
}
