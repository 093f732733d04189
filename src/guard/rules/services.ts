/** What runs elsewhere: databases and the cloud: categories 16, 17. */
import { afterGlobals, type Call, has, operands, values } from '../call.ts';
import { type Rule, rule } from '../rule.ts';

const SQL =
  'psql mysql mariadb sqlite3 sqlcmd mssql-cli clickhouse-client cockroach cqlsh duckdb snowsql bq mycli pgcli usql oracle sqlplus isql trino presto';
/** What a client of a database is asked to do, on its command line or on its stdin. */
const sqlOf = (call: Call) =>
  [
    ...values(call, 'c', 'command', 'e', 'execute', 'q', 'query', 'Q', 'cmd'),
    ...operands(call).filter(word => /\s/.test(word)),
    call.input ?? '',
  ]
    .join(';\n')
    .replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ');
const DESTROYS =
  /\b(?:drop\s+(?:database|schema|table|keyspace|owned|tablespace|role|user|materialized\s+view|collection|index\s+\*)|truncate(?:\s+table)?\s+["`[\w])/i;
const DELETES_ALL = /\bdelete\s+from\s+[\w."`[\]]+\s*(?:;|$|where\s+(?:1\s*=\s*1|true))/im;
const UPDATES_ALL = /\bupdate\s+[\w."`[\]]+\s+set\s+(?:(?!\bwhere\b)[^;])*(?:;|$)/i;
const isScratch = (text: string) =>
  /(?:^|[\s_/"-])(?:test|tests|testing|tmp|temp|dev|scratch|ci)(?:$|[\s_."-])|_test\b|test_|:memory:|\/tmp\//i.test(
    text,
  );

const DATA: readonly [string, string] = [
  'it destroys data in a database',
  'Work on a database of your own for tests, and write a migration that can be undone.',
];
const CLOUD: readonly [string, string] = [
  'it destroys something that is not on this machine',
  'Show what would change (plan, --dry-run), and leave the destruction to the user.',
];
const CHANGES: readonly [string, string] = [
  'it changes something that is not on this machine',
  'Show what would change first (plan, diff, --dry-run).',
];

const isDry = (call: Call) =>
  call.args.some(word => /^--?(?:dry-?run|dryrun|help|what-if)(?:=(?!false|none).*)?$/i.test(word));
const words = (call: Call) =>
  afterGlobals(call)
    .filter(word => !word.startsWith('-'))
    .join(' ');
const says = (call: Call, pattern: RegExp) => !isDry(call) && pattern.test(words(call));

// biome-ignore format: a table, a rule a row
export const SERVICE_RULES: readonly Rule[] = [
  rule('sql-destroy', [16, 'block'], SQL, call => isHarmful(call) && !(call.name === 'sqlite3' || call.name === 'duckdb') && !isScratch(call.args.join(' ')), DATA),
  rule('sql-destroy-scratch', [16, 'warn'], SQL, call => isHarmful(call) && (call.name === 'sqlite3' || call.name === 'duckdb' || isScratch(call.args.join(' '))), DATA),
  rule('sql-update-all', [16, 'warn'], SQL, call => !isHarmful(call) && (UPDATES_ALL.test(sqlOf(call)) || /\balter\s+table\s+\S+\s+drop\b/i.test(sqlOf(call))), DATA),
  rule('drop-database', [16, 'block'], 'dropdb dropuser mysqladmin', call => (call.name === 'mysqladmin' ? operands(call).includes('drop') : operands(call).length > 0) && !isScratch(call.args.join(' ')), DATA),
  rule('drop-scratch', [16, 'warn'], 'dropdb mysqladmin', call => (call.name === 'mysqladmin' ? operands(call).includes('drop') : operands(call).length > 0) && isScratch(call.args.join(' ')), DATA),
  rule('redis-flush', [16, 'block'], 'redis-cli valkey-cli keydb-cli memcached-tool', call => /\b(?:flushall|flushdb|shutdown|debug\s+segfault|config\s+set\s+dir|flush_all)\b/i.test(`${call.args.join(' ')} ${call.input ?? ''}`), DATA),
  rule('mongo-drop', [16, 'block'], 'mongo mongosh mongorestore', call => /\.drop(?:Database|Indexes|User|AllUsers)?\(|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\}|(?:^|\s)--drop\b/.test(`${call.args.join(' ')} ${call.input ?? ''}`), DATA),
  rule('search-delete', [16, 'block'], 'curl http xh', call => values(call, 'X', 'request').some(each => /^delete$/i.test(each)) && /:9200\/|elastic|opensearch|_all\b|:8983\//.test(call.args.join(' ')), DATA),
  rule('etcd-delete', [16, 'block'], 'etcdctl influx', call => /\bdel\b.*--(?:prefix|from-key)|^(?:delete|bucket delete)|drop\s+(?:database|measurement)/i.test(call.args.join(' ')), DATA),
  rule('migrate-reset', [16, 'warn'], 'npx prisma rails rake php artisan python python3 manage.py sequelize sequelize-cli typeorm knex alembic supabase drizzle-kit bin/rails mix bundle django-admin flask liquibase flyway dbmate', call => /\b(?:migrate\s+reset|db\s+push\s+.*--force-reset|--accept-data-loss|db:(?:drop|reset|wipe|migrate:undo:all|purge)|migrate:(?:fresh|reset|refresh)|db:wipe|schema:drop|ecto\.(?:drop|reset)|downgrade\s+base|db\s+(?:reset|drop)|migrate:rollback\s+--all|drop-?all|flyway\s+clean)\b/.test(`${call.name} ${call.args.join(' ')}`) || (/manage\.py|django-admin/.test(`${call.name} ${call.args[0]}`) && /\bflush\b|\breset_db\b/.test(call.args.join(' '))) || (call.name === 'flyway' && operands(call).includes('clean')), ['it empties the database of the project', 'Use a database for tests, or a migration that can be undone.']),

  rule('terraform-destroy', [17, 'block'], 'terraform tofu terragrunt pulumi cdk cdktf serverless sls sst copilot-cli', call => says(call, /^(?:destroy|remove|down|run-all destroy|stack rm)\b/) || (says(call, /^apply\b/) && has(call, 'destroy')), CLOUD),
  rule('terraform-apply', [17, 'warn'], 'terraform tofu terragrunt pulumi cdk', call => (says(call, /^(?:apply|run-all apply)\b/) && has(call, 'auto-approve', 'destroy') && !has(call, 'destroy')) || says(call, /^state (?:rm|mv|push|replace-provider)|^force-unlock|^taint/) || (call.name === 'pulumi' && says(call, /^up\b/) && has(call, 'y', 'yes')), CHANGES),
  rule('aws-delete', [17, 'block'], 'aws', call => says(call, /^(?:s3 rb\b|s3api delete-|[\w-]+ (?:delete|terminate|destroy|purge|deregister|remove|revoke|disable|stop)-)/) || (says(call, /^s3 rm\b/) && has(call, 'recursive')), CLOUD),
  rule('aws-change', [17, 'warn'], 'aws', call => (says(call, /^s3 rm\b/) && !has(call, 'recursive')) || (says(call, /^s3 (?:sync|mv)\b/) && (has(call, 'delete') || /^s3 mv/.test(words(call)))) || says(call, /^iam (?:create|put|attach|update|add)-/), CHANGES),
  rule('gcloud-delete', [17, 'block'], 'gcloud gsutil bq', call => says(call, /\b(?:delete|destroy|rm|remove-iam-policy-binding|purge|disable|undelete)\b/) && !(call.name === 'gsutil' && !has(call, 'r', 'R', 'm') && !/\*\*/.test(words(call))) && !(call.name === 'gcloud' && /^(?:auth|config)\b/.test(words(call))), CLOUD),
  rule('az-delete', [17, 'block'], 'az', call => says(call, /\b(?:delete|purge|remove|delete-batch)\b/) && !/^(?:extension|config|account clear)/.test(words(call)), CLOUD),
  rule('kubectl-delete', [17, 'block'], 'kubectl oc k', call => says(call, /^delete\b/) && (has(call, 'all', 'A', 'all-namespaces') || /^delete (?:ns|namespaces?|pv|pvc|persistentvolume\w*|crds?|customresourcedefinition\w*|nodes?|no|all|deploy\w*|statefulsets?|sts|secrets?|clusterrole\w*|projects?|ingress|svc|services?|configmaps?|cm|daemonsets?|ds)\b/.test(words(call))), CLOUD),
  rule('kubectl-change', [17, 'warn'], 'kubectl oc k', call => (says(call, /^delete\b/) && !has(call, 'all', 'A', 'all-namespaces') && !/^delete (?:ns|namespaces?|pv|pvc|persistentvolume\w*|crds?|nodes?|no|all|deploy\w*|statefulsets?|sts|secrets?|projects?|ingress|svc|services?|configmaps?|cm|daemonsets?|ds|customresourcedefinition\w*|clusterrole\w*)\b/.test(words(call))) || says(call, /^(?:drain|cordon|taint)\b/) || (says(call, /^scale\b/) && /--replicas[= ]0\b/.test(call.args.join(' '))) || (says(call, /^replace\b/) && has(call, 'force')), CHANGES),
  rule('helm-uninstall', [17, 'block'], 'helm eksctl kops kind minikube k3d doctl linode-cli hcloud oci ibmcloud scw civo', call => says(call, /^(?:uninstall|delete|del|un)\b|\b(?:delete|destroy|remove|terminate)\b/) && !/^(?:kind|minikube|k3d)$/.test(call.name) && !/^(?:repo|plugin)\b/.test(words(call)), CLOUD),
  rule('platform-destroy', [17, 'block'], 'heroku fly flyctl vercel netlify firebase wrangler railway render cf eb amplify supabase neonctl planetscale pscale ibmcloud now dokku', call => !isDry(call) && /\b(?:apps:destroy|apps:delete|destroy|pg:reset|pg:kill|addons:destroy|sites:delete|remove|rm|delete|terminate|purge|(?:firestore|database|storage|projects|functions|hosting):(?:delete|remove|disable)|d1 delete|r2 bucket delete|kv:namespace delete|projects delete)\b/.test(words(call)), CLOUD),
  rule('ansible-all', [17, 'warn'], 'ansible salt knife puppet', call => /^all\b|'\*'|\*/.test(operands(call)[0] ?? ''), ['it works on every machine at once', 'Name one machine, and look first with --check.']),
  rule('vagrant-destroy', [17, 'warn'], 'vagrant multipass virsh VBoxManage lxc', call => /^(?:destroy|delete|undefine|unregistervm)\b/.test(words(call)), ['it destroys a virtual machine', 'Leave it to the user.']),
];

function isHarmful(call: Call): boolean {
  const sql = sqlOf(call);
  return DESTROYS.test(sql) || DELETES_ALL.test(sql);
}
