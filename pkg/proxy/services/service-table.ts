/** The kernel's rules of services, whatever the program by which they are made. */
import type { RuleState } from '#proxy/loop/rule-loop.js';
import type { Frontend, ServiceRoutes } from '#proxy/services/routes.js';

export interface ServiceTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** What the kernel had at the start, before the first `contribute`. */
  adopt(listing: Listing | undefined): void;
  /** Replaces the rules of a service, by its key; undefined takes them away. */
  contribute(key: string, routes: ServiceRoutes | undefined): void;
  /** Everything known at the start was contributed. */
  adopted(): void;
  /** Where the kernel led a frontend at the start, as `address . port`; undefined: that is not known. */
  ledTo(frontend: Frontend): readonly string[] | undefined;
  /** Clients that were remembered for an endpoint which is none any more go to another. */
  forgetClients(before: readonly Frontend[], after: readonly Frontend[]): Promise<void>;
}
