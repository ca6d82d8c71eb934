/** Which controllers a cluster for tests runs: `all`, `none`, or a list such as `garbagecollector,namespace`. */
import { controllerNames } from '#controllers/options/names.js';
import { OptionsError } from '#daemon/options/option.js';

export interface ControllerChoice {
  /** Value of `--controllers`; empty: no controller runs. */
  readonly controllers: readonly string[];
  readonly scheduler: boolean;
}

const scheduler = 'scheduler';
const families: readonly string[] = ['all', '*'];
/** What nodes need in order to take pods. */
const ofNodes: readonly string[] = ['nodeipam', 'nodelifecycle'];
/** `*` does not include the controllers of bootstrap tokens. */
const all: readonly string[] = ['*', 'bootstrapsigner', 'tokencleaner'];

/**
 * Reads a list of controllers, `scheduler`, `all` (or `*`) and `none`; `-name` leaves one out. A cluster with nodes also runs
 * the controllers that nodes need, and the scheduler unless it is left out. Throws OptionsError for unknown names.
 */
export function controllerChoice(text: string, nodes: number): ControllerChoice {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'none');
  const unknown = names.find((name) => !(families.includes(name) || isName(name.replace(/^-/, ''))));
  if (unknown !== undefined) {
    const choices = ['all', 'none', scheduler, ...Object.keys(controllerNames)];
    throw new OptionsError([`unknown controller ${JSON.stringify(unknown)}; there are ${choices.join(', ')}`]);
  }
  const isAll = names.some((name) => families.includes(name));
  const own = names.filter((name) => !families.includes(name) && name.replace(/^-/, '') !== scheduler);
  const needed = nodes > 0 && !isAll ? ofNodes.filter((name) => !own.includes(name)) : [];
  return {
    // The first mention of a name counts.
    controllers: [...own, ...needed, ...(isAll ? all : [])],
    scheduler: !names.includes(`-${scheduler}`) && (isAll || nodes > 0 || names.includes(scheduler)),
  };
}

/** Whether a choice includes the controller. */
export function runsController({ controllers }: ControllerChoice, name: string): boolean {
  if (controllers.includes(`-${name}`)) return false;
  return controllers.includes(name) || (controllers.includes('*') && controllerNames[name]?.onByDefault === true);
}

function isName(name: string): boolean {
  return name === scheduler || Object.hasOwn(controllerNames, name);
}
