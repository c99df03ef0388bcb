// The layout algebra as a page to read, made by asking the code: conversion(), ring_sent_bytes() and the
// planner themselves, so that the page cannot say anything else than what runs.
#pragma once

#include <string>

namespace shardlens {

/// Markdown: every layout with its gradient's, every conversion with its collective and bytes, and the linear
/// layer under its three cuts as planned.
std::string algebra_table();

}  // namespace shardlens
