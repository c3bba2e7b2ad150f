"""Schema of commit 7ba08965. Its databases carry this revision, so that the migrations after this one bring them up to date."""

from alembic import op

revision = "0049"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = """
CREATE SEQUENCE record_no_seq INCREMENT BY 1000;

CREATE TABLE deployments (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL,
    problem_type VARCHAR NOT NULL,
    outputs JSONB NOT NULL,
    schema_version SMALLINT NOT NULL,
    model_revision VARCHAR NOT NULL,
    endpoint JSONB,
    credentials BYTEA,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    owner VARCHAR,
    record_tables JSONB,
    column_key BYTEA,
    purpose VARCHAR
);

CREATE TABLE activities (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ DEFAULT now() NOT NULL,
    actor VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE SET NULL,
    deployment_id VARCHAR,
    subject VARCHAR,
    details JSONB NOT NULL
);
CREATE INDEX activities_deployment_no_no_idx ON activities (deployment_no, no);

CREATE TABLE alert_channels (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    config JSONB NOT NULL,
    secret BYTEA,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE alert_rules (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    config JSONB NOT NULL,
    enabled BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    UNIQUE (deployment_no, id)
);

CREATE TABLE alerts (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    rule_no INTEGER REFERENCES alert_rules (no) ON DELETE SET NULL,
    rule_id VARCHAR NOT NULL,
    rule_name VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    attribute VARCHAR,
    "group" VARCHAR,
    metric VARCHAR,
    data VARCHAR,
    facts JSONB NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    opened_check_no BIGINT,
    last_seen_at TIMESTAMPTZ NOT NULL,
    last_check_no BIGINT,
    reminded_at TIMESTAMPTZ,
    acknowledged_at TIMESTAMPTZ,
    acknowledged_by VARCHAR,
    note VARCHAR,
    resolved_at TIMESTAMPTZ,
    resolution VARCHAR,
    change JSONB,
    closed_by VARCHAR,
    closing_note VARCHAR,
    assignee VARCHAR,
    assigned_at TIMESTAMPTZ,
    closing_reason VARCHAR
);
CREATE INDEX alerts_deployment_no_no_idx ON alerts (deployment_no, no);
CREATE UNIQUE INDEX alerts_one_open_idx ON alerts (rule_no, subject) WHERE resolved_at IS NULL;
CREATE INDEX alerts_open_idx ON alerts (deployment_no) WHERE resolved_at IS NULL;

CREATE TABLE alert_comments (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert_no BIGINT NOT NULL REFERENCES alerts (no) ON DELETE CASCADE,
    id VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    UNIQUE (alert_no, id)
);

CREATE TABLE alert_rule_channels (
    rule_no INTEGER REFERENCES alert_rules (no) ON DELETE CASCADE,
    channel_no INTEGER REFERENCES alert_channels (no) ON DELETE CASCADE,
    PRIMARY KEY (rule_no, channel_no)
);
CREATE INDEX alert_rule_channels_channel_no_idx ON alert_rule_channels (channel_no);

CREATE TABLE api_keys (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    secret_hash BYTEA NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    revoked_at TIMESTAMPTZ,
    expires_at TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    replaces VARCHAR
);
CREATE INDEX api_keys_deployment_no_idx ON api_keys (deployment_no);

CREATE TABLE archived_months (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    month TIMESTAMPTZ,
    state VARCHAR NOT NULL,
    folder VARCHAR NOT NULL,
    tables JSONB,
    labels_from TIMESTAMPTZ,
    labels_until TIMESTAMPTZ,
    changed_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    newest_record_at TIMESTAMPTZ,
    PRIMARY KEY (deployment_no, month)
);

CREATE TABLE arrivals (
    deployment_no INTEGER,
    hour TIMESTAMPTZ,
    no BIGINT GENERATED ALWAYS AS IDENTITY,
    source VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    PRIMARY KEY (deployment_no, hour, no)
);

CREATE TABLE attributions (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    trigger VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    span_start TIMESTAMPTZ NOT NULL,
    span_end TIMESTAMPTZ NOT NULL,
    check_id VARCHAR,
    alert_no BIGINT REFERENCES alerts (no) ON DELETE CASCADE,
    pairs INTEGER,
    max_rows INTEGER,
    planned_rows BIGINT,
    planned_requests BIGINT,
    asked_rows BIGINT,
    result JSONB,
    problem VARCHAR,
    attempts INTEGER NOT NULL,
    claimable_at TIMESTAMPTZ,
    lease_token VARCHAR,
    progress JSONB,
    created_by VARCHAR NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    comparisons JSONB,
    cancel_requested BOOLEAN NOT NULL
);
CREATE INDEX attributions_claimable_idx ON attributions (claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX attributions_deployment_no_no_idx ON attributions (deployment_no, no);
CREATE UNIQUE INDEX attributions_one_per_alert_idx ON attributions (alert_no);
CREATE UNIQUE INDEX attributions_one_per_night_idx ON attributions (deployment_no, span_end) WHERE trigger = 'nightly';
CREATE UNIQUE INDEX attributions_one_running_idx ON attributions (deployment_no) WHERE state = 'running' AND trigger <> 'alert';

CREATE TABLE attribution_answers (
    attribution_no BIGINT REFERENCES attributions (no) ON DELETE CASCADE,
    part INTEGER,
    question BYTEA NOT NULL,
    outcomes BYTEA NOT NULL,
    PRIMARY KEY (attribution_no, part)
);

CREATE TABLE audit_events (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ DEFAULT now() NOT NULL,
    actor VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    request_id VARCHAR NOT NULL,
    route VARCHAR NOT NULL,
    deployment_id VARCHAR,
    subject VARCHAR,
    details JSONB NOT NULL,
    "position" BIGINT UNIQUE,
    hash BYTEA
);
CREATE INDEX audit_events_deployment_id_no_idx ON audit_events (deployment_id, no);
CREATE INDEX audit_events_unsealed_idx ON audit_events (no) WHERE "position" IS NULL;

CREATE TABLE audit_sinks (
    sink VARCHAR PRIMARY KEY,
    "position" BIGINT DEFAULT 0 NOT NULL,
    sent_at TIMESTAMPTZ,
    looked_at TIMESTAMPTZ,
    taken_until TIMESTAMPTZ,
    last_error VARCHAR
);

CREATE TABLE checks (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    trigger VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    span_start TIMESTAMPTZ NOT NULL,
    span_end TIMESTAMPTZ NOT NULL,
    claimable_at TIMESTAMPTZ,
    attempts INTEGER NOT NULL,
    lease_token VARCHAR,
    lease_until TIMESTAMPTZ,
    cancel_requested BOOLEAN NOT NULL,
    progress JSONB,
    reason VARCHAR,
    "window" JSONB,
    monitor_version INTEGER,
    model_revision VARCHAR,
    created_by VARCHAR NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    failure VARCHAR,
    alerts_due BOOLEAN DEFAULT false NOT NULL,
    batch VARCHAR,
    traceparent VARCHAR,
    narrow_failure VARCHAR
);
CREATE INDEX checks_alerts_due_idx ON checks (deployment_no, no) WHERE alerts_due;
CREATE INDEX checks_claimable_idx ON checks (claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX checks_deployment_no_no_idx ON checks (deployment_no, no);
CREATE INDEX checks_deployment_no_span_end_idx ON checks (deployment_no, span_end, no);
CREATE INDEX checks_deployment_no_span_start_idx ON checks (deployment_no, span_start);
CREATE UNIQUE INDEX checks_one_per_hour_idx ON checks (deployment_no, span_start) WHERE trigger = 'schedule';
CREATE UNIQUE INDEX checks_one_running_idx ON checks (deployment_no) WHERE state = 'running';
CREATE INDEX checks_succeeded_idx ON checks (deployment_no, span_end, no) WHERE state = 'succeeded';

CREATE TABLE bias_detectors (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER,
    attribute VARCHAR,
    check_no BIGINT NOT NULL REFERENCES checks (no) ON DELETE CASCADE,
    basis VARCHAR NOT NULL,
    trained_at TIMESTAMPTZ NOT NULL,
    training JSONB NOT NULL,
    quality JSONB,
    reason VARCHAR,
    model BYTEA,
    PRIMARY KEY (deployment_no, version, attribute)
);
CREATE INDEX bias_detectors_check_no_idx ON bias_detectors (check_no);

CREATE TABLE call_halves (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    call_id VARCHAR,
    side VARCHAR,
    source VARCHAR NOT NULL,
    received_at TIMESTAMPTZ NOT NULL,
    stated_at TIMESTAMPTZ,
    content_type VARCHAR NOT NULL,
    encoding VARCHAR NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (deployment_no, call_id, side)
);

CREATE TABLE changed_hours (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL,
    hour TIMESTAMPTZ NOT NULL,
    era_no BIGINT
);
CREATE INDEX changed_hours_deployment_no_no_idx ON changed_hours (deployment_no, no);

CREATE TABLE check_days (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    day TIMESTAMPTZ,
    is_kept BOOLEAN DEFAULT false NOT NULL,
    changed_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    failed INTEGER,
    reason VARCHAR,
    topped_up INTEGER,
    logged BIGINT,
    changed_version_at TIMESTAMPTZ[],
    revisions VARCHAR[],
    monitors INTEGER[],
    PRIMARY KEY (deployment_no, day)
);
CREATE INDEX check_days_changed_idx ON check_days (changed_at) WHERE NOT is_kept;

CREATE TABLE check_tables (
    check_no BIGINT REFERENCES checks (no) ON DELETE CASCADE,
    data VARCHAR,
    attribute VARCHAR,
    part VARCHAR,
    cells JSONB NOT NULL,
    PRIMARY KEY (check_no, data, attribute, part)
);

CREATE TABLE copy_targets (
    no INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    model_revision VARCHAR NOT NULL,
    schema_version SMALLINT NOT NULL,
    feature VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    draws SMALLINT NOT NULL,
    seed BIGINT NOT NULL,
    CONSTRAINT copy_targets_key UNIQUE (deployment_no, model_revision, schema_version, feature, target, draws, seed)
);

CREATE TABLE counterfactuals (
    target_no INTEGER,
    record_no BIGINT,
    draw SMALLINT,
    prediction JSONB NOT NULL,
    probability JSONB,
    label JSONB,
    PRIMARY KEY (target_no, record_no, draw)
);

CREATE TABLE deployment_schemas (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    version SMALLINT,
    features JSONB NOT NULL,
    meta JSONB NOT NULL,
    PRIMARY KEY (deployment_no, version)
);

CREATE TABLE endpoint_failures (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    failures INTEGER NOT NULL,
    reason VARCHAR NOT NULL,
    failed_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    open_until TIMESTAMPTZ
);

CREATE TABLE erased_hours (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    PRIMARY KEY (deployment_no, hour)
);

CREATE TABLE erased_ids (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    digest BYTEA,
    PRIMARY KEY (deployment_no, digest)
);

CREATE TABLE erasures (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL,
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE SET NULL,
    deployment_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    selector JSONB,
    scope JSONB NOT NULL,
    request_hash VARCHAR NOT NULL,
    counts JSONB NOT NULL,
    requested_by VARCHAR NOT NULL,
    requested_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    hash VARCHAR,
    UNIQUE (deployment_id, id)
);
CREATE INDEX erasures_deployment_no_no_idx ON erasures (deployment_no, no);
CREATE INDEX erasures_open_idx ON erasures (no) WHERE finished_at IS NULL;

CREATE TABLE evidence_eras (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    monitor_version INTEGER NOT NULL,
    model_revision VARCHAR NOT NULL,
    starts_at TIMESTAMPTZ,
    counted_until TIMESTAMPTZ,
    labels_until TIMESTAMPTZ,
    problem VARCHAR,
    alerts_due BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    figures_due BOOLEAN DEFAULT true NOT NULL,
    CONSTRAINT evidence_eras_key UNIQUE (deployment_no, monitor_version, model_revision)
);
CREATE INDEX evidence_eras_alerts_due_idx ON evidence_eras (deployment_no) WHERE alerts_due;

CREATE TABLE evidence_closures (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    era_no BIGINT NOT NULL REFERENCES evidence_eras (no) ON DELETE CASCADE,
    data VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    "group" VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    direction VARCHAR NOT NULL,
    hour TIMESTAMPTZ NOT NULL,
    alert_no BIGINT NOT NULL REFERENCES alerts (no) ON DELETE CASCADE
);
CREATE INDEX evidence_closures_alert_no_idx ON evidence_closures (alert_no);
CREATE INDEX evidence_closures_era_no_idx ON evidence_closures (era_no);

CREATE TABLE evidence_figures (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    era_no BIGINT NOT NULL REFERENCES evidence_eras (no) ON DELETE CASCADE,
    data VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    "group" VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    first_hour TIMESTAMPTZ NOT NULL,
    until TIMESTAMPTZ NOT NULL,
    is_stale BOOLEAN NOT NULL,
    state BYTEA NOT NULL,
    summary JSONB NOT NULL
);
ALTER TABLE evidence_figures ALTER COLUMN state SET STORAGE EXTERNAL;
CREATE INDEX evidence_figures_era_no_no_idx ON evidence_figures (era_no, no);

CREATE TABLE evidence_hours (
    era_no BIGINT REFERENCES evidence_eras (no) ON DELETE CASCADE,
    data VARCHAR,
    attribute VARCHAR,
    hour TIMESTAMPTZ,
    cells JSONB NOT NULL,
    check_no BIGINT,
    PRIMARY KEY (era_no, data, attribute, hour)
);

CREATE TABLE evidence_late_labels (
    era_no BIGINT REFERENCES evidence_eras (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    labels BIGINT NOT NULL,
    PRIMARY KEY (era_no, hour)
);

CREATE TABLE evidence_people (
    era_no BIGINT REFERENCES evidence_eras (no) ON DELETE CASCADE,
    person BYTEA,
    logged_at TIMESTAMPTZ NOT NULL,
    record_no BIGINT NOT NULL,
    PRIMARY KEY (era_no, person)
);

CREATE TABLE feedback_records (
    deployment_no INTEGER,
    feedback_id VARCHAR,
    feedback_no BIGINT NOT NULL,
    logged_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    schema_version SMALLINT NOT NULL,
    features JSONB,
    meta JSONB,
    label JSONB NOT NULL,
    record_no BIGINT,
    record_logged_at TIMESTAMPTZ,
    usable_at TIMESTAMPTZ,
    predicted JSONB,
    predicted_label JSONB,
    predicted_probability JSONB,
    predicted_revision VARCHAR,
    PRIMARY KEY (deployment_no, feedback_id)
);
CREATE INDEX feedback_records_deployment_no_usable_at_feedback_no_idx ON feedback_records (deployment_no, usable_at, feedback_no);
CREATE INDEX feedback_records_pending_idx ON feedback_records (deployment_no, feedback_no) WHERE usable_at IS NULL;

CREATE TABLE figure_days (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL,
    day TIMESTAMPTZ NOT NULL,
    metric VARCHAR NOT NULL,
    data VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    attribute VARCHAR,
    "group" VARCHAR,
    definition SMALLINT NOT NULL,
    last_at TIMESTAMPTZ NOT NULL,
    figures INTEGER NOT NULL,
    carried INTEGER NOT NULL,
    unfair INTEGER NOT NULL,
    suspected INTEGER NOT NULL,
    unwatched INTEGER NOT NULL,
    fair INTEGER NOT NULL,
    insufficient INTEGER NOT NULL,
    absent INTEGER NOT NULL,
    lowest DOUBLE PRECISION[],
    highest DOUBLE PRECISION[],
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    n BIGINT NOT NULL,
    lower_limit DOUBLE PRECISION,
    upper_limit DOUBLE PRECISION,
    reason VARCHAR
);
CREATE INDEX figure_days_day_idx ON figure_days (deployment_no, day);
CREATE INDEX figure_days_series_idx ON figure_days (deployment_no, metric, data, day);

CREATE TABLE flagged_records (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    record_no BIGINT,
    attribute VARCHAR,
    logged_at TIMESTAMPTZ NOT NULL,
    model_revision VARCHAR NOT NULL,
    "group" VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    direction VARCHAR NOT NULL,
    own_score DOUBLE PRECISION,
    reference_score DOUBLE PRECISION,
    gap DOUBLE PRECISION NOT NULL,
    bias_score DOUBLE PRECISION,
    check_no BIGINT NOT NULL REFERENCES checks (no) ON DELETE CASCADE,
    PRIMARY KEY (deployment_no, record_no, attribute)
);
CREATE INDEX flagged_records_check_no_idx ON flagged_records (check_no);
CREATE INDEX flagged_records_gap_idx ON flagged_records (deployment_no, gap DESC, record_no, attribute);

CREATE TABLE intake_counts (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    source VARCHAR,
    outcome VARCHAR,
    count BIGINT NOT NULL,
    reason VARCHAR,
    PRIMARY KEY (deployment_no, hour, source, outcome)
);

CREATE TABLE report_schedules (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    rhythm VARCHAR NOT NULL,
    wanted JSONB NOT NULL,
    enabled BOOLEAN NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    UNIQUE (deployment_no, id)
);

CREATE TABLE kept_reports (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    schedule_no INTEGER REFERENCES report_schedules (no) ON DELETE SET NULL,
    schedule_id VARCHAR,
    span_start TIMESTAMPTZ NOT NULL,
    span_end TIMESTAMPTZ NOT NULL,
    wanted JSONB NOT NULL,
    state VARCHAR NOT NULL,
    reason VARCHAR,
    seal VARCHAR,
    chain_head VARCHAR,
    created_by VARCHAR NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    finished_at TIMESTAMPTZ,
    claimable_at TIMESTAMPTZ,
    attempts INTEGER NOT NULL,
    lease_token VARCHAR
);
CREATE INDEX kept_reports_claimable_idx ON kept_reports (claimable_at) WHERE claimable_at IS NOT NULL;
CREATE INDEX kept_reports_deployment_no_no_idx ON kept_reports (deployment_no, no);
CREATE UNIQUE INDEX kept_reports_one_per_period_idx ON kept_reports (schedule_no, span_end) WHERE schedule_no IS NOT NULL;

CREATE TABLE kept_report_files (
    report_no BIGINT REFERENCES kept_reports (no) ON DELETE CASCADE,
    form VARCHAR,
    content BYTEA NOT NULL,
    PRIMARY KEY (report_no, form)
);

CREATE TABLE key_limits (
    key_id VARCHAR PRIMARY KEY,
    requests_per_second DOUBLE PRECISION,
    records_per_second DOUBLE PRECISION,
    max_bytes BIGINT
);

CREATE TABLE key_use (
    key_id VARCHAR PRIMARY KEY,
    requests BIGINT NOT NULL,
    records BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    first_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    last_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE legal_holds (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    reason VARCHAR NOT NULL,
    placed_by VARCHAR NOT NULL,
    placed_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    released_by VARCHAR,
    released_at TIMESTAMPTZ
);
CREATE INDEX legal_holds_deployment_no_no_idx ON legal_holds (deployment_no, no);
CREATE UNIQUE INDEX legal_holds_one_in_force_idx ON legal_holds (deployment_no) WHERE released_at IS NULL;

CREATE TABLE listed_files (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    side VARCHAR,
    path VARCHAR,
    bytes BIGINT NOT NULL,
    modified_ns BIGINT NOT NULL,
    batch VARCHAR,
    oldest TIMESTAMPTZ,
    newest TIMESTAMPTZ,
    PRIMARY KEY (deployment_no, side, path)
);
CREATE INDEX listed_files_newest_idx ON listed_files (deployment_no, side, newest);

CREATE TABLE listener (
    no SMALLINT PRIMARY KEY,
    exposed_on VARCHAR,
    started_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE measurements (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    check_no BIGINT NOT NULL REFERENCES checks (no) ON DELETE CASCADE,
    deployment_no INTEGER NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    metric VARCHAR NOT NULL,
    data VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    attribute VARCHAR,
    "group" VARCHAR,
    value DOUBLE PRECISION,
    reason VARCHAR,
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    interval_method VARCHAR,
    n BIGINT NOT NULL,
    verdict VARCHAR,
    lower_limit DOUBLE PRECISION,
    upper_limit DOUBLE PRECISION,
    carried_forward BOOLEAN NOT NULL,
    details JSONB NOT NULL,
    definition SMALLINT DEFAULT 1 NOT NULL
);
CREATE INDEX measurements_attribute_idx ON measurements (deployment_no, metric, data, attribute, at);
CREATE INDEX measurements_check_no_idx ON measurements (check_no);
CREATE INDEX measurements_series_idx ON measurements (deployment_no, metric, at, no);

CREATE TABLE missing_records (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    sender VARCHAR,
    not_received BIGINT NOT NULL,
    left_out BIGINT NOT NULL,
    sample_rate DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (deployment_no, hour, sender)
);

CREATE TABLE mitigation_profiles (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER,
    basis VARCHAR NOT NULL,
    fitted_at TIMESTAMPTZ NOT NULL,
    profile JSONB NOT NULL,
    PRIMARY KEY (deployment_no, version)
);

CREATE TABLE mitigation_settings (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    settings JSONB NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE monitors (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    schedule VARCHAR NOT NULL,
    config JSONB NOT NULL,
    scheduled_since TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    attribution JSONB,
    nightly_since TIMESTAMPTZ
);

CREATE TABLE notifications (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    channel_no INTEGER NOT NULL REFERENCES alert_channels (no) ON DELETE CASCADE,
    alert_no BIGINT REFERENCES alerts (no) ON DELETE CASCADE,
    event VARCHAR NOT NULL,
    body JSONB NOT NULL,
    state VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    claimable_at TIMESTAMPTZ,
    lease_token VARCHAR,
    last_error VARCHAR,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    sent_at TIMESTAMPTZ
);
CREATE INDEX notifications_alert_no_idx ON notifications (alert_no);
CREATE INDEX notifications_channel_no_no_idx ON notifications (channel_no, no);
CREATE INDEX notifications_leased_idx ON notifications (channel_no) WHERE lease_token IS NOT NULL;
CREATE INDEX notifications_waiting_idx ON notifications (channel_no, state, no) WHERE claimable_at IS NOT NULL;

CREATE TABLE openscale_data_marts (
    id VARCHAR PRIMARY KEY,
    entity JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_by VARCHAR NOT NULL
);

CREATE TABLE openscale_definitions (
    id VARCHAR PRIMARY KEY,
    entity JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_by VARCHAR NOT NULL,
    modified_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE openscale_imports (
    id VARCHAR PRIMARY KEY,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    definition_id VARCHAR NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    entity JSONB NOT NULL,
    created_by VARCHAR NOT NULL
);
CREATE INDEX openscale_imports_instance_idx ON openscale_imports (deployment_no, definition_id, at);

CREATE TABLE openscale_instances (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    definition_id VARCHAR,
    entity JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_by VARCHAR NOT NULL,
    PRIMARY KEY (deployment_no, definition_id)
);

CREATE TABLE openscale_providers (
    id VARCHAR PRIMARY KEY,
    entity JSONB NOT NULL,
    secrets BYTEA,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_by VARCHAR NOT NULL,
    modified_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE openscale_subscriptions (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    data_mart_id VARCHAR NOT NULL REFERENCES openscale_data_marts (id),
    provider_id VARCHAR REFERENCES openscale_providers (id),
    entity JSONB NOT NULL,
    created_by VARCHAR NOT NULL
);
CREATE INDEX openscale_subscriptions_data_mart_id_idx ON openscale_subscriptions (data_mart_id);
CREATE INDEX openscale_subscriptions_provider_id_idx ON openscale_subscriptions (provider_id);

CREATE TABLE payload_keys (
    deployment_no INTEGER,
    record_id VARCHAR,
    record_no BIGINT NOT NULL,
    logged_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    PRIMARY KEY (deployment_no, record_id)
);

CREATE TABLE payload_records (
    deployment_no INTEGER,
    logged_at TIMESTAMPTZ DEFAULT now(),
    record_no BIGINT,
    record_id VARCHAR NOT NULL,
    schema_version SMALLINT NOT NULL,
    model_revision VARCHAR NOT NULL,
    scored_at TIMESTAMPTZ NOT NULL,
    features JSONB NOT NULL,
    meta JSONB,
    prediction JSONB NOT NULL,
    probability JSONB,
    label JSONB,
    debiased JSONB,
    sample_rate DOUBLE PRECISION,
    PRIMARY KEY (deployment_no, logged_at, record_no)
) PARTITION BY RANGE (logged_at);

CREATE TABLE record_counts (
    minute TIMESTAMPTZ,
    deployment_no INTEGER,
    no BIGINT GENERATED ALWAYS AS IDENTITY,
    records INTEGER NOT NULL,
    PRIMARY KEY (minute, deployment_no, no)
);

CREATE TABLE rejection_counts (
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    source VARCHAR,
    kind VARCHAR,
    reason VARCHAR,
    field VARCHAR,
    records BIGINT NOT NULL,
    PRIMARY KEY (deployment_no, hour, source, kind, reason, field)
);

CREATE TABLE report_schedule_channels (
    schedule_no INTEGER REFERENCES report_schedules (no) ON DELETE CASCADE,
    channel_no INTEGER REFERENCES alert_channels (no) ON DELETE CASCADE,
    PRIMARY KEY (schedule_no, channel_no)
);
CREATE INDEX report_schedule_channels_channel_no_idx ON report_schedule_channels (channel_no);

CREATE TABLE retention_policies (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    preset VARCHAR,
    records_months INTEGER,
    feedback_months INTEGER,
    answers_months INTEGER,
    answers_until TIMESTAMPTZ,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE TABLE users (
    no INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name VARCHAR NOT NULL UNIQUE,
    password_hash VARCHAR,
    role VARCHAR NOT NULL,
    deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    disabled_at TIMESTAMPTZ,
    issuer VARCHAR,
    subject VARCHAR,
    UNIQUE (issuer, subject)
);
CREATE INDEX users_deployment_no_idx ON users (deployment_no);

CREATE TABLE sessions (
    token_hash BYTEA PRIMARY KEY,
    user_no INTEGER REFERENCES users (no) ON DELETE CASCADE,
    key_no INTEGER REFERENCES api_keys (no) ON DELETE CASCADE,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    id_token BYTEA
);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_key_no_idx ON sessions (key_no);
CREATE INDEX sessions_user_no_idx ON sessions (user_no);

CREATE TABLE subgroup_scans (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id VARCHAR NOT NULL UNIQUE,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    state VARCHAR NOT NULL,
    features JSONB,
    hours INTEGER NOT NULL,
    "limit" DOUBLE PRECISION NOT NULL,
    created_by VARCHAR NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    finished_at TIMESTAMPTZ,
    claimable_at TIMESTAMPTZ,
    attempts INTEGER NOT NULL,
    lease_token VARCHAR,
    reason VARCHAR,
    span_start TIMESTAMPTZ,
    span_end TIMESTAMPTZ,
    bins JSONB,
    result JSONB,
    candidate_no BIGINT,
    direction VARCHAR NOT NULL
);
CREATE INDEX subgroup_scans_deployment_no_no_idx ON subgroup_scans (deployment_no, no);
CREATE UNIQUE INDEX subgroup_scans_one_open_idx ON subgroup_scans (deployment_no) WHERE claimable_at IS NOT NULL;

CREATE TABLE subgroup_candidates (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL REFERENCES deployments (no) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    scan_no BIGINT NOT NULL REFERENCES subgroup_scans (no) ON DELETE CASCADE,
    era_no BIGINT NOT NULL REFERENCES evidence_eras (no) ON DELETE CASCADE,
    bins JSONB NOT NULL,
    "values" JSONB NOT NULL,
    "limit" DOUBLE PRECISION NOT NULL,
    born_at TIMESTAMPTZ NOT NULL,
    state VARCHAR NOT NULL,
    log_evidence DOUBLE PRECISION NOT NULL,
    confirmed_at TIMESTAMPTZ,
    until TIMESTAMPTZ NOT NULL,
    direction VARCHAR NOT NULL,
    CONSTRAINT subgroup_candidates_key UNIQUE (deployment_no, number)
);
CREATE INDEX subgroup_candidates_era_no_idx ON subgroup_candidates (era_no);
CREATE INDEX subgroup_candidates_scan_no_idx ON subgroup_candidates (scan_no);

CREATE TABLE subgroup_hours (
    candidate_no BIGINT REFERENCES subgroup_candidates (no) ON DELETE CASCADE,
    hour TIMESTAMPTZ,
    inside_favourable BIGINT NOT NULL,
    inside_records BIGINT NOT NULL,
    others_favourable BIGINT NOT NULL,
    others_records BIGINT NOT NULL,
    PRIMARY KEY (candidate_no, hour)
);

CREATE TABLE subgroup_settings (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    nightly BOOLEAN NOT NULL,
    features JSONB,
    "limit" DOUBLE PRECISION NOT NULL,
    updated_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    direction VARCHAR NOT NULL
);

CREATE TABLE table_days (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    deployment_no INTEGER NOT NULL,
    day TIMESTAMPTZ NOT NULL,
    data VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    favourable JSONB NOT NULL,
    unfavourable JSONB NOT NULL,
    hour TIMESTAMPTZ NOT NULL,
    hours INTEGER NOT NULL,
    cells JSONB NOT NULL,
    FOREIGN KEY (deployment_no, day) REFERENCES check_days (deployment_no, day) ON DELETE CASCADE
);
CREATE INDEX table_days_day_idx ON table_days (deployment_no, day);
CREATE INDEX table_days_series_idx ON table_days (deployment_no, data, attribute, day);

CREATE TABLE training_data (
    deployment_no INTEGER PRIMARY KEY REFERENCES deployments (no) ON DELETE CASCADE,
    form VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    weight VARCHAR,
    records BIGINT NOT NULL,
    schema_version SMALLINT NOT NULL,
    labels JSONB NOT NULL,
    absent JSONB NOT NULL,
    processed_at TIMESTAMPTZ NOT NULL,
    processing_seconds DOUBLE PRECISION NOT NULL
);

CREATE TABLE training_correlations (
    deployment_no INTEGER REFERENCES training_data (deployment_no) ON DELETE CASCADE,
    attribute VARCHAR,
    associations JSONB NOT NULL,
    donor_features JSONB NOT NULL,
    donors JSONB NOT NULL,
    digest VARCHAR NOT NULL,
    PRIMARY KEY (deployment_no, attribute)
);

CREATE TABLE training_distributions (
    deployment_no INTEGER REFERENCES training_data (deployment_no) ON DELETE CASCADE,
    "position" INTEGER,
    distribution JSONB NOT NULL,
    PRIMARY KEY (deployment_no, "position")
);

CREATE TABLE training_tables (
    deployment_no INTEGER REFERENCES training_data (deployment_no) ON DELETE CASCADE,
    attribute VARCHAR,
    counted_by JSONB NOT NULL,
    cells JSONB,
    reason VARCHAR,
    PRIMARY KEY (deployment_no, attribute)
);

CREATE TABLE used_log_ins (
    state_hash BYTEA PRIMARY KEY,
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE workers (
    id VARCHAR PRIMARY KEY,
    started_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    beat_at TIMESTAMPTZ DEFAULT now() NOT NULL
);

CREATE FUNCTION keep_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            IF OLD.position IS NULL AND NEW.position IS NOT NULL AND NEW.hash IS NOT NULL
                AND to_jsonb(NEW) - 'position' - 'hash' = to_jsonb(OLD) - 'position' - 'hash' THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION 'audit events are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
    END $$;
CREATE TRIGGER audit_events_kept BEFORE DELETE OR UPDATE ON audit_events FOR EACH ROW EXECUTE FUNCTION keep_audit_events();
CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_events();

CREATE FUNCTION note_day_of_check() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO check_days (deployment_no, day)
        SELECT DISTINCT deployment_no, date_bin('1 day', span_end - interval '1 microsecond', '1970-01-05 00:00:00+00')
        FROM (VALUES (OLD.deployment_no, OLD.span_end), (NEW.deployment_no, NEW.span_end)) changed (deployment_no, span_end)
        WHERE deployment_no IS NOT NULL ORDER BY 1, 2
        ON CONFLICT (deployment_no, day) DO UPDATE SET is_kept = false, changed_at = now(), reason = NULL;
        RETURN NULL;
    END $$;
CREATE FUNCTION note_days_of_deleted_checks() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE check_days SET is_kept = false, changed_at = now(), reason = NULL
        FROM (SELECT DISTINCT deployment_no, date_bin('1 day', span_end - interval '1 microsecond', '1970-01-05 00:00:00+00') AS day FROM gone) lost
        WHERE check_days.deployment_no = lost.deployment_no AND check_days.day = lost.day;
        RETURN NULL;
    END $$;
CREATE TRIGGER checks_day_noted AFTER INSERT ON checks FOR EACH ROW
    WHEN (NEW.state IN ('succeeded', 'insufficient_data', 'failed')) EXECUTE FUNCTION note_day_of_check();
CREATE TRIGGER checks_day_changed
    AFTER UPDATE OF deployment_no, state, span_start, span_end, reason, "window", monitor_version, model_revision ON checks FOR EACH ROW
    WHEN (OLD.state IN ('succeeded', 'insufficient_data', 'failed') OR NEW.state IN ('succeeded', 'insufficient_data', 'failed'))
    EXECUTE FUNCTION note_day_of_check();
CREATE TRIGGER checks_day_lost AFTER DELETE ON checks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
    EXECUTE FUNCTION note_days_of_deleted_checks();

CREATE FUNCTION refuse_change_of_report() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'a kept report is never changed' USING ERRCODE = 'integrity_constraint_violation';
    END
    $$;
CREATE TRIGGER kept_reports_unchanged BEFORE UPDATE ON kept_reports FOR EACH ROW
    WHEN (OLD.state = 'ready' AND to_jsonb(NEW) - 'schedule_no' IS DISTINCT FROM to_jsonb(OLD) - 'schedule_no')
    EXECUTE FUNCTION refuse_change_of_report();
CREATE TRIGGER kept_report_files_unchanged BEFORE UPDATE ON kept_report_files FOR EACH ROW EXECUTE FUNCTION refuse_change_of_report();

INSERT INTO openscale_data_marts (id, entity, created_by)
VALUES ('00000000-0000-0000-0000-000000000000', '{"name": "Evenhand", "internal_database": true}', 'evenhand');
"""  # noqa: E501 - a function's text is that of the commit


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SCHEMA)
