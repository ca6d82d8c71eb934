import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';

testResources(t, administrationCases, kubernetesDialect);
