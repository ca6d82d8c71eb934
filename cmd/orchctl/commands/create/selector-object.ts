/** Label selectors of the command line as fields of objects. Pure. */
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Equalities become matchLabels, and the rest matchExpressions. Throws a CommandError for operators that release 1.24 does not take here. */
export function selectorObject(selector: LabelSelector): object {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: object[] = [];
  for (const { key, operator, values } of selector.requirements) {
    switch (operator) {
      case '=':
      case '==':
        matchLabels[key] = values[0] ?? '';
        break;
      case 'in':
        matchExpressions.push({ key, operator: 'In', values });
        break;
      case 'notin':
        matchExpressions.push({ key, operator: 'NotIn', values });
        break;
      case 'exists':
        matchExpressions.push({ key, operator: 'Exists' });
        break;
      case '!':
        matchExpressions.push({ key, operator: 'DoesNotExist' });
        break;
      default:
        throw new CommandError(`${JSON.stringify(operator)} is not a valid label selector operator`);
    }
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}
